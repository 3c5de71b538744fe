package plain

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// admitter decides who is counted. Not for concurrent use.
type admitter struct {
	budget  budgets.Budget
	size    int64 // length of a window
	from    int64 // the start of the first window
	filler  spend.Filler
	sizes   []uint64
	metrics []metric
	hasher  *schemas.Hasher
	ranked  []rankedKey
	keys    []keyCount
}

type rankedKey struct {
	rank  [16]byte
	count keyCount
}

func newAdmitter(s *Settings, secrets *Secrets) (*admitter, error) {
	metrics, err := s.compile()
	if err != nil {
		return nil, err
	}
	return &admitter{budget: s.Budget, size: s.span().size, from: s.span().from, metrics: metrics,
		hasher: schemas.NewHasher(secrets.UserHash.Reveal())}, nil
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

// decide walks the metrics for one window of one user, charges the account and its buckets for the
// admitted contributions, and emits them. The price is known, so reservation and charge are one
// step.
func (a *admitter) decide(id accounts.ID, user *purse, window slice, emit func(cell []byte, n int64)) error {
	for i := range a.metrics {
		m := &a.metrics[i]
		keys := a.within(m, id, window.keys)
		if len(keys) == 0 {
			continue
		}
		p, elapsed := spend.Purse{Account: user.account, Debt: user.debt(i)}, window.end-a.from
		rank := func(key int) [16]byte { return a.rank(m, id, keys[key].key) }
		counts, price := a.filler.Fill(a.sizes, p.Left(a.budget, &m.allowance, elapsed), m.spec.Top, rank)
		if err := p.Pay(a.budget, &m.allowance, elapsed, price); err != nil {
			return err
		}
		user.account = p.Account
		user.setDebt(i, p.Debt)
		for j, n := range counts {
			if n > 0 {
				emit(schemas.EncodeReleaseKey(m.spec.Name, window.end-a.size, []byte(keys[j].key)), int64(n))
			}
		}
	}
	return nil
}

func (a *admitter) rank(m *metric, id accounts.ID, key string) [16]byte {
	return a.hasher.ClipRank(m.spec.Name, id, 0, []byte(key))
}

// within returns the keys of a user's window that the metric takes, ascending: if there is a cap on
// them, those with the least ranks. a.sizes is how much of each could count. Both are valid until
// the next call.
func (a *admitter) within(m *metric, id accounts.ID, keys []keyCount) []keyCount {
	a.ranked, a.sizes = a.ranked[:0], a.sizes[:0]
	for _, k := range keys {
		if _, listed := m.public[k.key]; listed || m.public == nil {
			a.ranked = append(a.ranked, rankedKey{count: k})
		}
	}
	if limit := int(m.spec.MaxKeysPerUser); limit > 0 && len(a.ranked) > limit {
		for i := range a.ranked {
			a.ranked[i].rank = a.rank(m, id, a.ranked[i].count.key)
		}
		slices.SortFunc(a.ranked, func(x, y rankedKey) int { return bytes.Compare(x.rank[:], y.rank[:]) })
		a.ranked = a.ranked[:limit]
		slices.SortFunc(a.ranked, func(x, y rankedKey) int { return strings.Compare(x.count.key, y.count.key) })
	}
	a.keys = a.keys[:0]
	for _, r := range a.ranked {
		_, total := m.kind.Contribution(uint64(r.count.n), m.spec.Bounds())
		a.keys, a.sizes = append(a.keys, r.count), append(a.sizes, uint64(total))
	}
	return a.keys
}
