package plain

import (
	"bytes"
	"context"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// admitter decides who is counted. Not for concurrent use.
type admitter struct {
	budget  budgets.Budget
	size    int64 // of a window
	metrics []metric
	hasher  *schemas.Hasher
	ranked  []rankedKey
}

type rankedKey struct {
	rank [16]byte
	at   keyCount
}

func newAdmitter(s *Settings, secrets *Secrets) (*admitter, error) {
	metrics, err := s.compile()
	if err != nil {
		return nil, err
	}
	return &admitter{budget: s.Budget, size: s.span().size, metrics: metrics, hasher: schemas.NewHasher(secrets.UserHash.Reveal())}, nil
}

// admitting is what DoFns have that decide who is counted.
type admitting struct {
	part

	admitter *admitter
}

// Setup opens the secrets and compiles the settings.
func (f *admitting) Setup(ctx context.Context) error {
	secrets, err := f.open(ctx)
	if err != nil {
		return err
	}
	f.admitter, err = newAdmitter(&f.Settings, secrets)
	return err
}

// idOf reads the key of a user's elements.
func idOf(key []byte) (id accounts.ID, err error) {
	if len(key) != len(id) {
		return id, ErrMalformed
	}
	return accounts.ID(key), nil
}

// decide walks the metrics for one window of one user, charges the account for
// what it admits, and emits it. The price is known, so that reservation and charge are
// one step.
func (a *admitter) decide(id accounts.ID, account *accounts.Account, window slice, emit func(cell []byte, n int64)) error {
	for i := range a.metrics {
		m := &a.metrics[i]
		kept := a.clip(m, id, window.keys)
		price, delta, ok := m.price(kept)
		if len(kept) == 0 || !ok || !account.Fits(a.budget, price, delta) {
			continue
		}
		if err := account.Reserve(a.budget, price, delta); err != nil {
			return err
		}
		if err := account.Settle(price, price); err != nil {
			return err
		}
		for _, k := range kept {
			emit(schemas.EncodeReleaseKey(m.spec.Name, window.end-a.size, []byte(k.key)), int64(k.n))
		}
	}
	return nil
}

// clip returns what the metric counts of a user's window: the keys with the least
// ranks among those it takes, and of each so many events. Valid until the next
// call.
func (a *admitter) clip(m *metric, id accounts.ID, keys []keyCount) []keyCount {
	kept := make([]keyCount, 0, min(len(keys), int(m.spec.MaxKeysPerUser)))
	a.ranked = a.ranked[:0]
	for _, k := range keys {
		if _, listed := m.public[k.key]; !listed && m.public != nil {
			continue
		}
		_, total := m.kind.Contribution(uint64(k.n), m.spec.Bounds())
		k.n = uint32(total) // at most maxBound
		a.ranked = append(a.ranked, rankedKey{at: k})
	}
	if len(a.ranked) > int(m.spec.MaxKeysPerUser) {
		for i := range a.ranked {
			r := &a.ranked[i]
			r.rank = a.hasher.ClipRank(m.spec.Name, id, 0, []byte(r.at.key))
		}
		slices.SortFunc(a.ranked, func(x, y rankedKey) int { return bytes.Compare(x.rank[:], y.rank[:]) })
		a.ranked = a.ranked[:m.spec.MaxKeysPerUser]
	}
	for _, r := range a.ranked {
		kept = append(kept, r.at)
	}
	return kept
}

// price returns what a contribution costs, with the δ of its private keys; ok is
// false if it does not fit an account.
func (m *metric) price(kept []keyCount) (price units.Mu2, delta units.Delta, ok bool) {
	for _, k := range kept {
		charge, fits := units.Charge(uint64(k.n), m.spec.Top)
		if !fits {
			return 0, units.Delta{}, false
		}
		if price, ok = price.Add(charge); !ok {
			return 0, units.Delta{}, false
		}
		if m.public == nil {
			if delta, ok = delta.Add(m.spec.DeltaKey); !ok {
				return 0, units.Delta{}, false
			}
		}
	}
	return price, delta, true
}
