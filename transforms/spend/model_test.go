package spend

import (
	"bytes"
	"cmp"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// contribution is what one user did with one key in a turn.
type contribution struct {
	user   int
	period int64
	key    string
	n      uint32
}

// settings are a deployment's, as far as SPEND is concerned.
type settings struct {
	budget                       state.Budget
	metrics                      []schemas.MetricSpec
	shards, releaseShards, slots int
}

var testHashKey = [32]byte{1, 2, 3}

// testID is a user's account id: the hash of a real one.
func testID(user int) state.AccountID {
	return schemas.NewHasher(testHashKey).Account([]byte{byte(user), byte(user >> 8), byte(user >> 16), 'u'})
}

func testPairs(metrics int) func(uint64) []schemas.Pair {
	return func(turn uint64) []schemas.Pair {
		pairs := make([]schemas.Pair, metrics)
		for i := range pairs {
			pairs[i] = schemas.Pair{Metric: uint32(i), WindowStart: int64(turn-1) * 1000, WindowEnd: int64(turn) * 1000}
		}
		return pairs
	}
}

// model computes what SPEND must decide, in the plainest way there is: one
// sequence, no shards, no cache, big integers. It shares no code with the
// package but the hash that clipping is defined by.
type model struct {
	settings
	hasher   *schemas.Hasher
	accounts map[account]*modelAccount
	counts   map[cell]uint64 // admitted, of the turn that is open
	tallies  []schemas.PairTally
	holds    []hold // of the turn that is open
}

type account struct {
	id     state.AccountID
	period int64
}

type modelAccount struct{ spent, held, keys *big.Int }

type hold struct {
	account account
	metric  int
	kept    map[string]uint32
	worst   *big.Int
}

func newModel(s settings) *model {
	return &model{settings: s, hasher: schemas.NewHasher(testHashKey), accounts: map[account]*modelAccount{}}
}

// modelCharge is ⌈c²·u/2^40⌉.
func modelCharge(c uint32, u state.Precision) *big.Int {
	v := new(big.Int).SetUint64(uint64(c))
	v.Mul(v, v).Mul(v, u.Big())
	v.Add(v, new(big.Int).SetUint64(1<<40-1))
	return v.Rsh(v, 40)
}

// open admits a turn's contributions.
func (m *model) open(turn uint64, cs []contribution) {
	m.counts, m.holds = map[cell]uint64{}, nil
	m.tallies = make([]schemas.PairTally, len(m.metrics))
	users := map[account]map[string]uint32{}
	for _, c := range cs {
		at := account{testID(c.user), c.period}
		if users[at] == nil {
			users[at] = map[string]uint32{}
		}
		users[at][c.key] += c.n
	}
	for at, events := range users {
		for i := range m.metrics {
			m.admit(turn, at, i, events)
		}
	}
}

func (m *model) admit(turn uint64, at account, metric int, events map[string]uint32) {
	spec := &m.metrics[metric]
	tally := &m.tallies[metric]
	var taken [][]byte
	for key, n := range events {
		if spec.KeyMode == keyModePublic && !slices.ContainsFunc(spec.PublicKeys, func(k []byte) bool { return string(k) == key }) {
			tally.Filtered += uint64(n)
			continue
		}
		taken = append(taken, []byte(key))
	}
	slices.SortFunc(taken, func(a, b []byte) int {
		ra, rb := m.hasher.ClipRank(spec.Name, at.id, at.period, a), m.hasher.ClipRank(spec.Name, at.id, at.period, b)
		return cmp.Or(bytes.Compare(ra[:], rb[:]), bytes.Compare(a, b))
	})
	h := hold{at, metric, map[string]uint32{}, new(big.Int)}
	delta := new(big.Int)
	var kept uint64
	for i, key := range taken {
		n := events[string(key)]
		if i >= int(spec.MaxKeysPerUser) {
			tally.Clipped += uint64(n)
			continue
		}
		c := min(n, spec.MaxEventsPerKey)
		tally.Clipped += uint64(n - c)
		kept += uint64(c)
		h.kept[string(key)] = c
		h.worst.Add(h.worst, modelCharge(c, spec.Top))
		if spec.KeyMode != keyModePublic {
			delta.Add(delta, spec.DeltaKey.Big())
		}
	}
	if len(h.kept) == 0 {
		return
	}
	a := m.account(at)
	mu := new(big.Int).Add(a.spent, a.held)
	mu.Add(mu, h.worst)
	keys := new(big.Int).Add(a.keys, delta)
	if mu.Cmp(new(big.Int).SetUint64(uint64(m.budget.Mu2))) > 0 || keys.Cmp(m.budget.Keys.Big()) > 0 {
		tally.OverBudget += kept
		return
	}
	a.held.Add(a.held, h.worst)
	a.keys = keys
	tally.Counted += kept
	m.holds = append(m.holds, h)
	for key, c := range h.kept {
		m.counts[cell{uint32(metric), int64(turn-1) * 1000, int64(turn) * 1000, key}] += uint64(c)
	}
}

func (m *model) account(at account) *modelAccount {
	a := m.accounts[at]
	if a == nil {
		a = &modelAccount{new(big.Int), new(big.Int), new(big.Int)}
		m.accounts[at] = a
	}
	return a
}

// charge settles the open turn.
func (m *model) charge(turn uint64, s schemas.Settled) {
	released := map[cell]state.Precision{}
	for _, k := range s.Keys {
		released[cell{k.Metric, k.WindowStart, k.WindowEnd, string(k.Key)}] = k.Precision
	}
	for _, h := range m.holds {
		a := m.account(h.account)
		a.held.Sub(a.held, h.worst)
		for key, c := range h.kept {
			u, ok := released[cell{uint32(h.metric), int64(turn-1) * 1000, int64(turn) * 1000, key}]
			if !ok {
				u = m.metrics[h.metric].First
			}
			a.spent.Add(a.spent, modelCharge(c, u))
		}
	}
	m.holds = nil
}
