package spend

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Rules are the settings that determine admission. They are read-only and safe for concurrent use.
type Rules struct {
	Budget        budgets.Budget
	UserHash      secret.Of[[32]byte]
	Shards        int
	ReleaseShards int
	LedgerSlots   uint64
	From          uint64 // the first turn of these rules; 0: from the beginning
	// Before lists the allowances to which the debts in the ledger belong, as of the turn before
	// From and in the order of the debts. nil: they belong to the allowances of these rules.
	Before  []schemas.MetricAllowance
	Begins  int64 // end of the turn before From, on the clock of metric windows
	metrics []metric
}

// metric is a metric with all numbers that admission needs.
type metric struct {
	spec      schemas.MetricSpec
	allowance accounts.Allowance
	kind      metrickind.Kind
	bounds    metrickind.Bounds   // caps on a user's contribution to a key
	filter    uint64              // bit that the label of a counted event must have; 0: no filter
	public    map[string]struct{} // nil unless keys are public
	rank      string              // first input of the hash that orders a user's keys
	extra     []int               // indexes of the metrics for the additional components of its counts
	nodes     int                 // index of the metric for the nodes of its trees; −1: none
	scale     *metrickind.Scale   // scale of its trees
	base      int                 // of a share: index of the metric whose events it counts
	valued    bool                // whether the kind has Values
	// values computes the contribution of an event to each component, for kinds with values.
	values []func(value int64, b metrickind.Bounds) int64
}

// NewRules returns Rules after checking its arguments. Users are admitted to the metrics in the
// given order; a derived metric must follow its base metric. Rules that continue the accounts of
// earlier rules may keep or lower the budget, but never raise it. The caller must check this with
// budgets.Budget.CheckNext, because accounts do not store the budget under which they were opened.
func NewRules(b budgets.Budget, userHash [32]byte, metrics []schemas.MetricSpec,
	shards, releaseShards, ledgerSlots int) (*Rules, error) {
	if shards < 1 || releaseShards < 1 || ledgerSlots < minLedgerSlots {
		return nil, fmt.Errorf("preparing admission: %d shards, %d release shards and %d ledger slots: at least 1, 1 "+
			"and %d are needed", shards, releaseShards, ledgerSlots, minLedgerSlots)
	}
	r := &Rules{Budget: b, UserHash: secret.New(userHash), Shards: shards, ReleaseShards: releaseShards,
		LedgerSlots: uint64(ledgerSlots)}
	filters := schemas.Filters(metrics)
	if len(filters) > 64 {
		return nil, fmt.Errorf("preparing admission: got %d different filters: at most 64 are allowed", len(filters))
	}
	for _, spec := range metrics {
		if !summable(&spec) {
			return nil, fmt.Errorf("preparing admission: metric %s: what one user can add to a sum does not fit in 63 "+
				"bits: lower the bounds or the number of events", spec.Name)
		}
		kind, known := metrickind.Find(spec.Kind)
		if !known {
			return nil, fmt.Errorf("preparing admission: metric %s: this version does not know kind %q: use "+
				"the version that wrote the definition, or a later one", spec.Name, spec.Kind)
		}
		m := metric{spec: spec, allowance: spec.Allowance(), kind: kind, bounds: spec.Bounds(), rank: spec.Route(),
			nodes: -1}
		if spec.MaxEventsPerKey == 0 {
			m.bounds.Events = schemas.MostEvents
		}
		if kind.Sums() && spec.Min == 0 && spec.Max == 0 { // the values have no range
			m.bounds.Min, m.bounds.Max = math.MinInt64, math.MaxInt64
		}
		if m.valued = kind.Values(); m.valued {
			m.values = append(m.values, kind.Value)
		}
		if spec.Filter != "" {
			m.filter = 1 << slices.Index(filters, spec.Filter)
		}
		if spec.KeyMode == schemas.KeysPublic {
			m.public = make(map[string]struct{}, len(spec.PublicKeys))
			for _, k := range spec.PublicKeys {
				m.public[string(k)] = struct{}{}
			}
		}
		if kind.Derived() {
			if err := r.addDerived(&m); err != nil {
				return nil, err
			}
		}
		r.metrics = append(r.metrics, m)
	}
	for i := range r.metrics {
		if m := &r.metrics[i]; !r.hasSums(m) || (m.kind.Tree != nil) != (m.nodes >= 0) {
			return nil, fmt.Errorf("preparing admission: metric %s does not have the components of its kind",
				m.spec.Name)
		}
	}
	return r, nil
}

// addDerived adds a derived metric to its base metric.
func (r *Rules) addDerived(m *metric) error {
	base := slices.IndexFunc(r.metrics, func(o metric) bool { return o.spec.Name == m.spec.Of && !o.kind.Derived() })
	if base < 0 {
		return fmt.Errorf("preparing admission: metric %s is derived from %s but does not come after it", m.spec.Name,
			m.spec.Of)
	}
	if m.kind.Share {
		return r.addShare(m, base)
	}
	origin := &r.metrics[base]
	if m.spec.KeyMode != schemas.KeysFrom {
		return fmt.Errorf("preparing admission: metric %s must take its keys from %s, which alone decides whether "+
			"they are released", m.spec.Name, m.spec.Of)
	}
	switch {
	case m.kind.Statistic != nil:
		belongs := origin.kind.Tree != nil && origin.kind.Tree.Statistic == m.kind.Name || m.kind.ValueOf() != "" &&
			slices.Contains(origin.kind.Also(), m.kind.ValueOf()) && m.hasBoundsOf(origin)
		if !belongs || m.spec.Route() != origin.spec.Route() || m.spec.Confidence != origin.spec.Confidence {
			return fmt.Errorf("preparing admission: metric %s is not a statistic of %s", m.spec.Name, m.spec.Of)
		}
	case m.kind.HasNodes():
		if origin.kind.Tree == nil || !slices.Contains(origin.kind.Tree.Nodes, m.kind.Name) || origin.nodes >= 0 ||
			!m.hasBoundsOf(origin) || m.spec.Route() != origin.spec.Route() {
			return fmt.Errorf("preparing admission: metric %s does not have the nodes of %s", m.spec.Name, m.spec.Of)
		}
		scale, err := m.spec.Scale()
		if err != nil {
			return fmt.Errorf("preparing admission: %w", err)
		}
		origin.nodes, origin.scale = len(r.metrics), scale
	default: // a component
		if place, sums := len(origin.extra), r.sumsOf(origin); place >= len(sums) ||
			sums[place].Name != m.kind.Name || !m.hasBoundsOf(origin) || m.spec.Route() != origin.spec.Route() {
			return fmt.Errorf("preparing admission: metric %s is not the next component of %s", m.spec.Name, m.spec.Of)
		}
		origin.extra, origin.values = append(origin.extra, len(r.metrics)), append(origin.values, m.kind.Value)
	}
	return nil
}

// hasBoundsOf reports whether a derived metric has the bounds of its base metric. The cap in the
// base metric's bounds may be the number of events for which a full bucket pays.
func (m *metric) hasBoundsOf(base *metric) bool {
	return m.bounds == base.bounds || m.bounds == base.spec.Bounds()
}

// hasSums reports whether a metric has exactly the additional components that it needs, in order.
func (r *Rules) hasSums(m *metric) bool {
	return slices.EqualFunc(m.extra, r.sumsOf(m), func(i int, kind metrickind.Kind) bool {
		return r.metrics[i].kind.Name == kind.Name
	})
}

// sumsOf returns the kinds of the sums that a metric needs as additional components, for its own
// counts and for its statistics in r.metrics.
func (r *Rules) sumsOf(m *metric) []metrickind.Kind {
	var statistics []string
	for i := range r.metrics {
		if s := &r.metrics[i]; s.spec.Of == m.spec.Name && s.kind.ValueOf() != "" {
			statistics = append(statistics, s.kind.ValueOf())
		}
	}
	return m.kind.ExtraSums(statistics)
}

// addShare makes m the share of counted events of a metric. m then counts the same events.
func (r *Rules) addShare(m *metric, base int) error {
	hasShare := slices.ContainsFunc(r.metrics, func(o metric) bool { return o.kind.Share && o.base == base })
	fits := m.spec.WindowSize == r.metrics[base].spec.WindowSize &&
		m.spec.WindowSlide == r.metrics[base].spec.WindowSlide
	if keys := m.spec.PublicKeys; hasShare || !fits || len(keys) != 2 || string(keys[0]) != metrickind.EventsCounted ||
		string(keys[1]) != metrickind.EventsLeftOut {
		return fmt.Errorf("preparing admission: metric %s is not a share of %s", m.spec.Name, m.spec.Of)
	}
	m.base, m.filter, m.public = base, r.metrics[base].filter, r.metrics[base].public
	return nil
}

// summable reports whether the sum of one user's clamped values fits in 63 bits.
func summable(m *schemas.MetricSpec) bool {
	if m.Min > m.Max { // every value would be clamped to max, which may be far below 0
		return false
	}
	greatest := max(m.Max, -m.Min) // −2⁶³ is its own negative
	power := slices.IndexFunc(metrickind.SumComponents(), func(k metrickind.Kind) bool { return k.Name == m.Kind })
	if power >= 0 { // the kind adds up 2v − min − max, …
		if greatest > math.MaxInt64>>2 {
			return false
		}
		greatest *= 4
		for range power { // … multiplied by a power of max − min
			high, low := bits.Mul64(uint64(greatest), uint64(m.Max-m.Min))
			if high != 0 || low > math.MaxInt64 {
				return false
			}
			greatest = int64(low)
		}
	}
	// These kinds do not add up values.
	if kind := metrickind.Of(m.Kind); kind.Tree != nil || kind.HasNodes() || kind.Statistic != nil {
		return m.Min != math.MinInt64 && (kind.Tree == nil || m.MaxEventsPerKey <= maxTreeEvents)
	}
	high, low := bits.Mul64(uint64(max(greatest, 0)), uint64(m.MaxEventsPerKey))
	return m.Min != math.MinInt64 && high == 0 && low <= math.MaxInt64
}

// maxTreeEvents is the maximum number of events of a user per key in a tree. It keeps the sum of
// the squares of the user's contributions to all nodes below 2^64.
const maxTreeEvents = 1 << 30

// counts reports whether the metric counts events with the label.
func (m *metric) counts(l schemas.Label) bool {
	if m.filter != 0 && l.Passes&m.filter == 0 || !m.kind.Admits() {
		return false
	}
	if m.public == nil {
		return true
	}
	_, ok := m.public[string(l.Key)]
	return ok
}

// countsByRank reports whether the metric counts only a key's first events, in the order of ranks.
func (m *metric) countsByRank() bool { return m.valued && !m.kind.CountTarget() }

// private reports whether the metric itself decides which private keys are released.
func (m *metric) private() bool { return m.spec.KeyMode == schemas.KeysPrivate }

// price returns the worst-case cost of a user's contribution to a window of the metric, including
// the additional components of its counts and all nodes of their trees. ok is false if the cost
// exceeds the range of an account.
func (r *Rules) price(m *metric, kept []kept, extra []int64, leaves []leafCount) (worst units.Mu2, ok bool) {
	for len(leaves) > 0 {
		var selected []leafCount
		selected, leaves = firstTree(leaves)
		charge, fits := units.ChargeSquares(metrickind.Squares(selected, m.scale.Levels(), nil),
			r.metrics[m.nodes].spec.Top)
		if worst, ok = worst.Add(charge); !fits || !ok {
			return 0, false
		}
	}
	for i, n := range extra {
		charge, fits := units.Charge(size(n), r.metrics[m.extra[i%len(m.extra)]].spec.Top)
		if worst, ok = worst.Add(charge); !fits || !ok {
			return 0, false
		}
	}
	for _, k := range kept {
		charge, fits := units.Charge(k.contribution(), m.spec.Top)
		if worst, ok = worst.Add(charge); !fits || !ok {
			return 0, false
		}
	}
	return worst, true
}
