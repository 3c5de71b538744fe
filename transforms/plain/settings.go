package plain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

// Settings define the counts, their prices, and the budget of every user. They travel with the
// pipeline and contain no secrets.
type Settings struct {
	// Incarnation identifies this promise: 128 random bits, drawn once and kept. The same
	// incarnation, secrets and events give the same noise.
	Incarnation [16]byte
	// Budget is the budget of every user; see budgets.NewBudget. For private keys, it must include
	// a δ for keys. An update of a pipeline that keeps its state may keep or lower the budget, but
	// not raise it. Check this with budgets.Budget.CheckNext, because this package does not know
	// the previous budget.
	Budget budgets.Budget
	// Window is the size of all windows, in whole seconds. They start at multiples of it since 1970
	// UTC.
	Window time.Duration
	// From and To limit the released windows. They must be boundaries of windows, and are public.
	// Events outside them are rejected.
	From, To time.Time
	Metrics  []Metric // in the order in which users pay for them
}

// Metric is a count that is released in every window.
type Metric struct {
	Name string
	Kind string // metrickind.Events or metrickind.DistinctUsers
	// MaxKeysPerUser and MaxEventsPerKey cap one user's contribution to a window; 0: no cap. Kinds
	// that count a user once ignore MaxEventsPerKey.
	MaxKeysPerUser, MaxEventsPerKey int
	// Share is the part of every account that the metric may use, above 0; default: equal parts.
	// The sum of all shares must not exceed 1.
	Share float64
	// Burst is the part of Share that a user may use at once, above 0 and at most 1; default: 0.5.
	// The rest is paid out evenly between From and To.
	Burst float64
	// Sigma is the standard deviation of the noise: the price of a contribution c is c²/Sigma².
	Sigma float64
	// Confidence is the confidence of the intervals, 0.8 to 0.999; default: 0.95.
	Confidence float64
	// PublicKeys, if set, are the only keys that are counted. Without them, keys are private: for
	// each user, the probability that any key which only this user has is released is at most
	// Budget.Keys.
	PublicKeys []string
}

// ErrSettings is wrapped by every error about Settings and Secrets.
var ErrSettings = errors.New("invalid settings")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSettings, fmt.Sprintf(format, args...))
}

const (
	maxWindows = 1_000_000
	maxBound   = 1 << 30

	keysPublic, keysPrivate = schemas.KeysPublic, schemas.KeysPrivate
)

// metric is a Metric with the numbers computed from it.
type metric struct {
	spec      schemas.MetricSpec
	allowance accounts.Allowance
	kind      metrickind.Kind
	public    map[string]struct{} // nil for private keys
}

// span describes the released windows, in Unix milliseconds.
type span struct{ from, to, size int64 }

// end returns the end of the window that contains a time. ok is false if there is no such window.
func (s span) end(millis int64) (end int64, ok bool) {
	if millis < s.from || millis >= s.to {
		return 0, false
	}
	return millis - (millis-s.from)%s.size + s.size, true
}

func (s *Settings) span() span {
	return span{s.From.UnixMilli(), s.To.UnixMilli(), s.Window.Milliseconds()}
}

// compile checks the settings and prepares the metrics.
func (s *Settings) compile() ([]metric, error) {
	sp := s.span()
	switch {
	case s.Window < time.Second || s.Window%time.Second != 0:
		return nil, invalid("the window is %v, but must be one or more whole seconds", s.Window)
	case sp.from%sp.size != 0 || sp.to%sp.size != 0 || sp.to <= sp.from:
		return nil, invalid("the windows are from %v to %v: both must be multiples of the window since 1970 UTC, the "+
			"first before the second", s.From, s.To)
	case (sp.to-sp.from)/sp.size > maxWindows:
		return nil, invalid("there are %d windows from %v to %v, more than %d", (sp.to-sp.from)/sp.size, s.From, s.To,
			maxWindows)
	case s.Budget.Mu2 == 0:
		return nil, invalid("there is no budget: create one with budgets.NewBudget")
	case s.Incarnation == [16]byte{}:
		return nil, invalid("there is no incarnation: draw 16 random bytes once, and keep them")
	case len(s.Metrics) == 0:
		return nil, invalid("there are no metrics")
	}
	shares := 0.0
	for i := range s.Metrics {
		shares += cmp.Or(s.Metrics[i].Share, 1/float64(len(s.Metrics)))
	}
	if shares > 1+1e-9 {
		return nil, invalid("the shares add up to %v, but must not exceed 1", shares)
	}
	metrics := make([]metric, len(s.Metrics))
	for i := range s.Metrics {
		m, err := s.Metrics[i].compile(s)
		if err != nil {
			return nil, err
		}
		for _, earlier := range metrics[:i] {
			if earlier.spec.Name == m.spec.Name {
				return nil, invalid("two metrics are named %q", m.spec.Name)
			}
		}
		metrics[i] = m
	}
	return metrics, nil
}

func (m *Metric) compile(s *Settings) (metric, error) {
	fail := func(format string, args ...any) (metric, error) {
		return metric{}, invalid("metric %q: %s", m.Name, fmt.Sprintf(format, args...))
	}
	if err := m.check(); err != nil {
		return metric{}, err
	}
	top, err := units.PrecisionFromSigma(m.Sigma)
	if err != nil {
		return fail("%v", err)
	}
	spec := schemas.MetricSpec{
		Name: m.Name, Kind: m.Kind,
		WindowSize: s.Window.Milliseconds(), WindowSlide: s.Window.Milliseconds(),
		MaxKeysPerUser: uint32(m.MaxKeysPerUser), MaxEventsPerKey: uint32(m.MaxEventsPerKey),
		LadderKind: string(noisereduction.Geometric), LadderFactor: 2, First: top, Top: top,
		Confidence: m.Confidence, KeyMode: keysPrivate,
	}
	spec.Confidence = cmp.Or(spec.Confidence, 0.95)
	kind := metrickind.Of(m.Kind)
	part := accounts.Part(s.Budget.Mu2, cmp.Or(m.Share, 1/float64(len(s.Metrics))))
	allowance := accounts.NewAllowance(part, cmp.Or(m.Burst, 0.5), s.span().to-s.span().from)
	spec.Burst, spec.Refill, spec.Horizon = allowance.Burst, allowance.Refill, allowance.Horizon
	if len(m.PublicKeys) == 0 {
		if spec.DeltaKey = s.Budget.KeyDelta(top); spec.DeltaKey.IsZero() {
			return fail("private keys need a budget with a δ for keys; if it is very small, also a smaller sigma")
		}
		return metric{spec: spec, allowance: allowance, kind: kind}, nil
	}
	spec.KeyMode = keysPublic
	public := make(map[string]struct{}, len(m.PublicKeys))
	for _, key := range slices.Sorted(slices.Values(m.PublicKeys)) {
		if _, seen := public[key]; !seen {
			spec.PublicKeys = append(spec.PublicKeys, []byte(key))
		}
		public[key] = struct{}{}
	}
	return metric{spec: spec, allowance: allowance, kind: kind, public: public}, nil
}

func (m *Metric) check() error {
	kinds := metrickind.Names(metrickind.Counting())
	switch {
	case schemas.ValidateMetricName(m.Name) != nil:
		return invalid("metric %q: %v", m.Name, schemas.ErrMetricName)
	case !slices.Contains(kinds, m.Kind):
		return invalid("metric %q: the kind is %q, but must be \"%s\"", m.Name, m.Kind, strings.Join(kinds, `" or "`))
	case m.MaxKeysPerUser < 0 || m.MaxKeysPerUser > maxBound:
		return invalid("metric %q: MaxKeysPerUser is %d, but must be 0 to %d", m.Name, m.MaxKeysPerUser, maxBound)
	case m.MaxEventsPerKey < 0 || m.MaxEventsPerKey > maxBound:
		return invalid("metric %q: MaxEventsPerKey is %d, but must be 0 to %d", m.Name, m.MaxEventsPerKey, maxBound)
	case !(m.Share >= 0 && m.Share <= 1) || !(m.Burst >= 0 && m.Burst <= 1):
		return invalid("metric %q: the share is %v and the burst %v, but both must be 0 to 1", m.Name, m.Share,
			m.Burst)
	case math.IsNaN(m.Confidence):
		return invalid("metric %q: the confidence is not a number", m.Name)
	}
	for i, key := range m.PublicKeys {
		if err := schemas.ValidateKey([]byte(key)); err != nil {
			return invalid("metric %q: public key %d: %v", m.Name, i+1, err)
		}
	}
	return nil
}

// plan returns the metric's ladder of one rung.
func (m *metric) plan() (*noisereduction.Plan, error) {
	plan, err := release.PlanOf(&m.spec)
	if err != nil {
		return nil, invalid("metric %q: %v", m.spec.Name, err)
	}
	return plan, nil
}
