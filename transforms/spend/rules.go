package spend

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Rules is what the configuration says about admission. It is read-only and
// safe for concurrent use.
type Rules struct {
	Budget        budgets.Budget
	UserHash      secret.Of[[32]byte]
	Shards        int
	ReleaseShards int
	LedgerSlots   uint64
	metrics       []metric
	from          uint64     // the first turn of these rules, see Inherit
	past          []heritage // oldest first
}

type metric struct {
	spec     schemas.MetricSpec
	kind     metrickind.Kind
	filter   uint64              // the bit that an event must have; 0: no filter
	public   map[string]struct{} // nil unless keys are public
	rank     string              // names the order in which keys are clipped
	coverage int                 // the metric that counts this one's admitted users; −1: no metric
	second   int                 // the metric of the second components of its counts; 0: no metric
}

// NewRules checks the counts and prepares the metrics. Their order is the order
// of admission; a coverage metric comes right after the metric that it covers. Rules that
// take over the accounts of others may only keep or lower their budget, by
// budgets.Budget.CheckNext: accounts do not know it.
func NewRules(b budgets.Budget, userHash [32]byte, metrics []schemas.MetricSpec, shards, releaseShards, ledgerSlots int) (*Rules, error) {
	if shards < 1 || releaseShards < 1 || ledgerSlots < minLedgerSlots {
		return nil, fmt.Errorf("preparing admission: %d shards, %d release shards and %d ledger slots: at least 1, 1 and %d are needed", shards, releaseShards, ledgerSlots, minLedgerSlots)
	}
	r := &Rules{Budget: b, UserHash: secret.New(userHash), Shards: shards, ReleaseShards: releaseShards, LedgerSlots: uint64(ledgerSlots)}
	filters := schemas.Filters(metrics)
	if len(filters) > 64 {
		return nil, fmt.Errorf("preparing admission: %d different filters: at most 64", len(filters))
	}
	for _, spec := range metrics {
		if !summable(&spec) {
			return nil, fmt.Errorf("preparing admission: metric %s: what one user can add to a sum does not fit 63 bits: lower the bounds or the number of events", spec.Name)
		}
		kind, known := metrickind.Find(spec.Kind)
		if !known {
			return nil, fmt.Errorf("preparing admission: metric %s: this version knows no kind %q: use the one that wrote the definition, or a later one", spec.Name, spec.Kind)
		}
		m := metric{spec: spec, kind: kind, rank: spec.Route(), coverage: -1}
		if spec.Filter != "" {
			m.filter = 1 << slices.Index(filters, spec.Filter)
		}
		if spec.KeyMode == schemas.KeysPublic {
			m.public = make(map[string]struct{}, len(spec.PublicKeys))
			for _, k := range spec.PublicKeys {
				m.public[string(k)] = struct{}{}
			}
		}
		if kind.Derived {
			if err := r.derive(&m); err != nil {
				return nil, err
			}
		}
		r.metrics = append(r.metrics, m)
	}
	for i := range r.metrics {
		if m := &r.metrics[i]; (m.kind.Pair != nil) != (m.second > 0) {
			return nil, fmt.Errorf("preparing admission: metric %s has not the components of its kind", m.spec.Name)
		}
	}
	return r, nil
}

// derive notes m with the metric that it is derived from.
func (r *Rules) derive(m *metric) error {
	of := slices.IndexFunc(r.metrics, func(o metric) bool { return o.spec.Name == m.spec.Of && !o.kind.Derived })
	if of < 0 {
		return fmt.Errorf("preparing admission: metric %s is derived from %s and does not come after it", m.spec.Name, m.spec.Of)
	}
	at := &r.metrics[of].coverage
	if m.kind.Component {
		at = &r.metrics[of].second
		if pair := r.metrics[of].kind.Pair; pair == nil || pair.Component != m.kind.Name || m.spec.Route() != r.metrics[of].spec.Route() {
			return fmt.Errorf("preparing admission: metric %s is no component of %s", m.spec.Name, m.spec.Of)
		}
	}
	if *at > 0 {
		return fmt.Errorf("preparing admission: metric %s is there twice for %s", m.spec.Name, m.spec.Of)
	}
	*at = len(r.metrics)
	return nil
}

// summable reports whether the sum of one user's clamped values stays in range.
func summable(m *schemas.MetricSpec) bool {
	greatest := max(m.Max, -m.Min)         // −2⁶³ is its own negative
	if metrickind.Of(m.Kind).Pair != nil { // which adds 2v − min − max
		if greatest > math.MaxInt64>>2 {
			return false
		}
		greatest *= 4
	}
	high, low := bits.Mul64(uint64(max(greatest, 0)), uint64(m.MaxEventsPerKey))
	return m.Min != math.MinInt64 && high == 0 && low <= math.MaxInt64
}

// takes reports whether an event with the label belongs to the metric.
func (m *metric) takes(l schemas.Label) bool {
	if m.filter != 0 && l.Passes&m.filter == 0 || m.kind.Derived {
		return false
	}
	if m.public == nil {
		return true
	}
	_, ok := m.public[string(l.Key)]
	return ok
}

// private reports whether the metric's keys are private ones of its own: each costs δ.
func (m *metric) private() bool { return m.spec.KeyMode == schemas.KeysPrivate }

// price returns the worst case of what a user contributes to a window of the metric, to the second
// components of its counts and to its coverage, with the δ of private keys; ok is false if it does
// not fit an account.
func (r *Rules) price(m *metric, kept []kept, second []int64) (worst units.Mu2, d units.Delta, ok bool) {
	for _, n := range second {
		charge, fits := units.Charge(size(n), r.metrics[m.second].spec.Top)
		if worst, ok = worst.Add(charge); !fits || !ok {
			return 0, units.Delta{}, false
		}
	}
	for _, k := range kept {
		charge, fits := units.Charge(k.contribution(), m.spec.Top)
		if worst, ok = worst.Add(charge); !fits || !ok {
			return 0, units.Delta{}, false
		}
		if m.private() {
			if d, ok = d.Add(m.spec.DeltaKey); !ok {
				return 0, units.Delta{}, false
			}
		}
	}
	if m.coverage >= 0 {
		charge, fits := units.Charge(1, r.metrics[m.coverage].spec.Top)
		if worst, ok = worst.Add(charge); !fits || !ok {
			return 0, units.Delta{}, false
		}
	}
	return worst, d, true
}
