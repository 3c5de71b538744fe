package filter

import (
	"github.com/tollgate-dp/tollgate/internal/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Mixed has zCDP and ex-post private mechanisms side by side (Rogers et al. 2023,
// Theorem 3): at each step either kind may run, chosen and bounded from everything
// released before, each checked against a budget of its own. Not safe for concurrent
// use.
//
// The two parts are filters of two interactive systems on the same data. With (ε, δ)
// for the zCDP part, the δ of approximate zCDP included, and (ε', δ') for the ex-post
// part, everything accepted together is (ε + ε', δ + δ')-DP: each part is
// differentially private against any analyst, and concurrent composition lets the
// analyst use the answers of one to question the other. A part that is used up does
// not stop the other, and nothing moves between the budgets: a ρ has no use for an ε
// that was saved by stopping early.
//
// What Concentrated and ExPost returned before a state is read goes on with what was read.
type Mixed struct{ value[mixed, *mixed] }

type mixed struct {
	concentrated ApproxZCDP
	exPost       ExPost
	promise      loss.Approx
}

// NewMixed returns a Mixed filter. The zCDP part has the budgets of
// NewApproxZCDPFor(concentrated, approximate), the ex-post part those of
// NewExPostApprox(exPost). The error is a *units.RangeError.
func NewMixed(concentrated loss.Approx, approximate float64, exPost loss.Approx) (*Mixed, error) {
	z, err := NewApproxZCDPFor(concentrated, approximate)
	if err != nil {
		return nil, err
	}
	e, err := NewExPostApprox(exPost)
	if err != nil {
		return nil, err
	}
	promise := loss.Approx{
		Epsilon: rounding.SumUp(concentrated.Epsilon, exPost.Epsilon),
		Delta:   rounding.SumUp(concentrated.Delta, exPost.Delta),
	}
	if err := promise.Validate(); err != nil {
		return nil, err
	}
	return &Mixed{stored.New(mixed{concentrated: *z, exPost: *e, promise: promise})}, nil
}

// Concentrated returns the filter for (approximate) zCDP mechanisms, the same one at
// every call.
func (m *Mixed) Concentrated() *ApproxZCDP { return &stored.Of(&m.value).concentrated }

// ExPost returns the filter for ex-post private mechanisms, the same one at every
// call.
func (m *Mixed) ExPost() *ExPost { return &stored.Of(&m.value).exPost }

// Promise returns the (ε, δ) that holds for everything accepted by both parts,
// rounded up.
func (m *Mixed) Promise() loss.Approx { return stored.Of(&m.value).promise }

func (*mixed) Kind() stored.Kind { return "filter.Mixed" }

func (m *mixed) Layout(c *stored.Codec) {
	c.Parameters.Float(&m.promise.Epsilon)
	c.Parameters.Float(&m.promise.Delta)
	c.Fail(m.promise.Validate())
	m.concentrated.rule().Layout(c)
	m.exPost.rule().Layout(c)
	exPost := m.exPost.Budget()
	c.Check(exPost.Epsilon <= m.promise.Epsilon && exPost.Delta <= m.promise.Delta, "one of its parts has more than the promise of both")
}
