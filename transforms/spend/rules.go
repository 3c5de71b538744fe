package spend

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// Rules is what the configuration says about admission. It is read-only and
// safe for concurrent use.
type Rules struct {
	Budget        state.Budget
	UserHash      [32]byte
	Shards        int
	ReleaseShards int
	LedgerSlots   uint64
	metrics       []metric
	cap           uint32 // no metric counts more of a user's events in a cell
}

type metric struct {
	spec   schemas.MetricSpec
	public map[string]struct{} // nil for private keys
}

// NewRules checks the counts and prepares the metrics. Their order is the order
// of admission.
func NewRules(b state.Budget, userHash [32]byte, metrics []schemas.MetricSpec, shards, releaseShards, ledgerSlots int) (*Rules, error) {
	if shards < 1 || releaseShards < 1 || ledgerSlots < minLedgerSlots {
		return nil, fmt.Errorf("preparing admission: %d shards, %d release shards and %d ledger slots: at least 1, 1 and %d are needed", shards, releaseShards, ledgerSlots, minLedgerSlots)
	}
	r := &Rules{Budget: b, UserHash: userHash, Shards: shards, ReleaseShards: releaseShards, LedgerSlots: uint64(ledgerSlots)}
	for _, spec := range metrics {
		m := metric{spec: spec}
		if spec.KeyMode == keyModePublic {
			m.public = make(map[string]struct{}, len(spec.PublicKeys))
			for _, k := range spec.PublicKeys {
				m.public[string(k)] = struct{}{}
			}
		}
		r.cap = max(r.cap, spec.MaxEventsPerKey)
		r.metrics = append(r.metrics, m)
	}
	return r, nil
}

// takes says whether a key is in the metric's domain.
func (m *metric) takes(key []byte) bool {
	if m.public == nil {
		return true
	}
	_, ok := m.public[string(key)]
	return ok
}

// price is the worst case of contributions kept for the metric, with the δ of
// their private keys; ok is false when it does not fit an account.
func (m *metric) price(kept []schemas.KeyCount) (worst state.Mu2, d state.Delta, ok bool) {
	for _, k := range kept {
		charge, fits := state.Charge(uint64(k.N), m.spec.Top)
		if !fits {
			return 0, state.Delta{}, false
		}
		if worst, ok = worst.Add(charge); !ok {
			return 0, state.Delta{}, false
		}
		if m.public == nil {
			if d, ok = d.Add(m.spec.DeltaKey); !ok {
				return 0, state.Delta{}, false
			}
		}
	}
	return worst, d, true
}
