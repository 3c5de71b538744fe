package filter

import (
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/opaque"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// unreadable makes encoding/json an error: a filter has no JSON form.
type unreadable = opaque.State

// MarshalBinary returns budget and state; see "Storing and resuming" of the package.
func (b *Basic) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterBasic, b, (*Basic).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (b *Basic) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterBasic, b, Basic{}, (*Basic).layout, data)
}

func (b *Basic) layout(c *stored.Codec) { b.sums.layout(c, false) }

// MarshalBinary returns budget and state; see "Storing and resuming" of the package.
func (a *Advanced) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterAdvanced, a, (*Advanced).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (a *Advanced) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterAdvanced, a, Advanced{}, (*Advanced).layout, data)
}

func (a *Advanced) layout(c *stored.Codec) {
	c.Parameters.Float(&a.epsilon)
	c.Parameters.Float(&a.delta)
	fresh, err := NewAdvanced(loss.Approx{Epsilon: a.epsilon, Delta: a.delta})
	if c.Fail(err); c.Failed() {
		return
	}
	if c.Reading() {
		*a = *fresh
	}
	c.Progress.Amount(&a.excess)
	c.Progress.Amount(&a.squares)
	c.Meter(&a.deltas, false)
	c.Check(a.deltas.Limit() == fresh.deltas.Limit(), "its budget for the δ of losses is not half of δ")
	// Another machine's logarithm may differ in its last bits.
	const tolerance = 1 + 0x1p-40
	c.Check(a.upTo(a.excess, a.squares) <= a.epsilon*tolerance, "more is spent than the budget has")
}

// MarshalBinary returns budget and state; see "Storing and resuming" of the package.
func (r *Renyi) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterRenyi, r, (*Renyi).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (r *Renyi) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterRenyi, r, Renyi{}, (*Renyi).layout, data)
}

func (r *Renyi) layout(c *stored.Codec) {
	c.Parameters.Float(&r.order)
	c.Fail(loss.RDP{{Alpha: r.order}}.Validate())
	layoutLoss(c, &r.epsilons, false)
}

// MarshalBinary returns budget and state; see "Storing and resuming" of the package.
func (r *RenyiOrders) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterRenyiOrders, r, (*RenyiOrders).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (r *RenyiOrders) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterRenyiOrders, r, RenyiOrders{}, (*RenyiOrders).layout, data)
}

func (r *RenyiOrders) layout(c *stored.Codec) {
	n := len(r.orders)
	c.Parameters.Length(&n, 8+2*fixed.Size)
	if c.Reading() {
		*r = RenyiOrders{orders: make([]float64, n), epsilons: make([]fixed.Meter, n), prices: make([]fixed.Amount, n)}
	}
	for i := range r.orders {
		c.Parameters.Float(&r.orders[i])
		layoutLoss(c, &r.epsilons[i], false)
	}
	c.Fail(r.Budget().Validate())
}

// MarshalBinary returns budget and state; see "Storing and resuming" of the package.
func (z *ZCDP) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterZCDP, z, (*ZCDP).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (z *ZCDP) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterZCDP, z, ZCDP{}, (*ZCDP).layout, data)
}

func (z *ZCDP) layout(c *stored.Codec) { layoutLoss(c, &z.rho, false) }

// MarshalBinary returns budget and state; see "Storing and resuming" of the package.
func (z *ApproxZCDP) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterApproxZCDP, z, (*ApproxZCDP).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (z *ApproxZCDP) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterApproxZCDP, z, ApproxZCDP{}, (*ApproxZCDP).layout, data)
}

func (z *ApproxZCDP) layout(c *stored.Codec) { z.sums.layout(c, false) }

// MarshalBinary returns budget and state; see "Storing and resuming" of the package.
func (g *GDP) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterGDP, g, (*GDP).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (g *GDP) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterGDP, g, GDP{}, (*GDP).layout, data)
}

func (g *GDP) layout(c *stored.Codec) { layoutLoss(c, &g.squares, false) }

// MarshalBinary returns budget, state and what is reserved; see "Storing and resuming" of the
// package.
func (e *ExPost) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterExPost, e, (*ExPost).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (e *ExPost) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterExPost, e, ExPost{}, (*ExPost).layout, data)
}

func (e *ExPost) layout(c *stored.Codec) { e.sums.layout(c, true) }

// MarshalBinary returns budgets and states of both parts; see "Storing and resuming" of the
// package.
func (m *Mixed) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterMixed, m, (*Mixed).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package. What
// Concentrated and ExPost returned before goes on with it.
func (m *Mixed) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterMixed, m, Mixed{}, (*Mixed).layout, data)
}

func (m *Mixed) layout(c *stored.Codec) {
	c.Parameters.Float(&m.promise.Epsilon)
	c.Parameters.Float(&m.promise.Delta)
	c.Fail(m.promise.Validate())
	m.concentrated.layout(c)
	m.exPost.layout(c)
	exPost := m.exPost.Budget()
	c.Check(exPost.Epsilon <= m.promise.Epsilon && exPost.Delta <= m.promise.Delta, "one of its parts has more than the promise of both")
}

// MarshalBinary returns budget, state and what is reserved; see "Storing and resuming" of the
// package.
func (u *Unified) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.FilterUnified, u, (*Unified).layout)
}

// UnmarshalBinary resumes a stored state; see "Storing and resuming" of the package.
func (u *Unified) UnmarshalBinary(data []byte) error {
	return stored.Read(stored.FilterUnified, u, Unified{}, (*Unified).layout, data)
}

func (u *Unified) layout(c *stored.Codec) { u.sums.layout(c, true) }

func (p *pair) layout(c *stored.Codec, reserves bool) {
	layoutLoss(c, &p.Loss, reserves)
	c.Meter(&p.Delta, false)
	_, err := failure("delta", p.Delta.Limit().FloatDown())
	c.Fail(err)
}

// layoutLoss is the Meter of a budget: see limit.
func layoutLoss(c *stored.Codec, m *fixed.Meter, reserves bool) {
	c.Meter(m, reserves)
	if budget := m.Limit().FloatDown(); budget < leastBudget {
		c.Fail(&units.RangeError{Parameter: "budget", Value: budget, Range: limitRange})
	}
}
