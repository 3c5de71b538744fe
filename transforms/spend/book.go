package spend

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

const keyModePublic = "public"

// StopError says that the run must not go on until somebody has looked: log
// and ledger differ, a budget would be exceeded, or records were lost. Its text
// carries no data.
type StopError struct {
	Shard  int
	Turn   uint64
	Reason string
	Err    error
}

// Error implements error.
func (e *StopError) Error() string {
	text := fmt.Sprintf("stopping at turn %d, shard %d: %s", e.Turn, e.Shard, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StopError) Unwrap() error { return e.Err }

// errOverBudget says that a ledger holds decisions which no budget allows.
var errOverBudget = errors.New("an admitted user's worst case does not fit the budget")

// book is one shard's accounts as of a turn. Between a turn's admission and its
// settlement the worst case of its admitted users is held.
type book struct {
	rules    *Rules
	clip     *clipper
	accounts *state.Shard
	turn     uint64         // the last turn that was decided
	delta    *schemas.Delta // its decisions; nil before the first turn and once charged
}

func newBook(r *Rules) *book {
	return &book{rules: r, clip: newClipper(r), accounts: state.NewShard()}
}

// decide clips and admits the users of a turn and holds their worst cases. The
// turn before must have been charged.
func (b *book) decide(turn uint64, pairs []schemas.Pair, g gathered) (*schemas.Delta, error) {
	if b.delta != nil || turn != b.turn+1 {
		return nil, fmt.Errorf("deciding turn %d behind turn %d: out of order", turn, b.turn)
	}
	d := &schemas.Delta{Turn: turn, Records: g.records, Pairs: pairs, Tallies: make([]schemas.PairTally, len(pairs))}
	for _, u := range g.users {
		if err := b.decideUser(d, &u, g.keys); err != nil {
			return nil, err
		}
	}
	d.Keys = compactKeys(g.keys, d.Users)
	b.turn, b.delta = turn, d
	return d, nil
}

// decideUser walks the pairs in admission order. A pair that does not fit is
// skipped, costs nothing, and the walk goes on.
func (b *book) decideUser(d *schemas.Delta, u *gatheredUser, keys [][]byte) error {
	account, _ := b.accounts.Get(u.id, u.period)
	admitted := schemas.NewBits(len(d.Pairs))
	inSlice := make(map[uint32]bool, len(u.entries))
	for i, p := range d.Pairs {
		m := &b.rules.metrics[p.Metric]
		kept, tally := b.clip.keep(m, u.id, u.period, keys, u.entries)
		var events uint64
		for _, k := range kept {
			events += uint64(k.N)
			inSlice[k.Key] = true
		}
		worst, delta, ok := m.price(kept)
		switch {
		case len(kept) == 0:
		case ok && account.Fits(b.rules.Budget, worst, delta):
			if err := account.Hold(b.rules.Budget, worst, delta); err != nil {
				return err
			}
			admitted.Set(i)
			tally.Counted += events
		default:
			tally.OverBudget += events
		}
		addTally(&d.Tallies[i], tally)
	}
	if len(inSlice) == 0 {
		return nil
	}
	slice := make([]schemas.KeyCount, 0, len(inSlice))
	for _, e := range u.entries {
		if inSlice[e.Key] {
			slice = append(slice, schemas.KeyCount{Key: e.Key, N: min(e.N, b.rules.cap)})
		}
	}
	d.Users = append(d.Users, schemas.DeltaUser{ID: u.id, Period: u.period, Slice: slice, Admitted: admitted})
	return b.put(u.id, u.period, account)
}

func (b *book) put(id state.AccountID, period int64, a state.Account) error {
	if err := b.accounts.Put(id, period, a); err != nil {
		return fmt.Errorf("keeping an account: %w", err)
	}
	return nil
}

// obey holds what a delta from the ledger or from keyed state decided.
func (b *book) obey(d *schemas.Delta) error {
	if b.delta != nil || d.Turn != b.turn+1 {
		return fmt.Errorf("obeying turn %d behind turn %d: out of order", d.Turn, b.turn)
	}
	for _, p := range d.Pairs {
		if _, err := b.metric(p); err != nil {
			return err
		}
	}
	for i := range d.Users {
		u := &d.Users[i]
		account, _ := b.accounts.Get(u.ID, u.Period)
		for p, pair := range d.Pairs {
			if !u.Admitted.Get(p) {
				continue
			}
			m := &b.rules.metrics[pair.Metric]
			kept, _ := b.clip.keep(m, u.ID, u.Period, d.Keys, u.Slice)
			worst, delta, ok := m.price(kept)
			if !ok {
				return errOverBudget
			}
			if err := account.Hold(b.rules.Budget, worst, delta); err != nil {
				return fmt.Errorf("%w: %w", errOverBudget, err)
			}
		}
		if err := b.put(u.ID, u.Period, account); err != nil {
			return err
		}
	}
	b.turn, b.delta = d.Turn, d
	return nil
}

func (b *book) metric(p schemas.Pair) (*metric, error) {
	if int(p.Metric) >= len(b.rules.metrics) {
		return nil, fmt.Errorf("reading a delta: it names metric %d of %d", p.Metric, len(b.rules.metrics))
	}
	return &b.rules.metrics[p.Metric], nil
}

// charge settles the decided turn: every admitted user pays for what was
// released, and the rest of the hold goes back.
func (b *book) charge(s *Settlement) error {
	if b.delta == nil || s.Turn != b.turn {
		return fmt.Errorf("charging turn %d at turn %d: out of order", s.Turn, b.turn)
	}
	prices, err := b.prices(s)
	if err != nil {
		return err
	}
	for i := range b.delta.Users {
		if err := b.chargeUser(&b.delta.Users[i], prices); err != nil {
			return err
		}
	}
	b.delta = nil
	return nil
}

// prices looks up the precision of every (pair, key) of the decided turn once.
func (b *book) prices(s *Settlement) ([][]state.Precision, error) {
	prices := make([][]state.Precision, len(b.delta.Pairs))
	for i, p := range b.delta.Pairs {
		m, err := b.metric(p)
		if err != nil {
			return nil, err
		}
		prices[i] = make([]state.Precision, len(b.delta.Keys))
		for k, key := range b.delta.Keys {
			if m.takes(key) {
				prices[i][k] = s.precision(p, key, m.public == nil)
			}
		}
	}
	return prices, nil
}

func (b *book) chargeUser(u *schemas.DeltaUser, prices [][]state.Precision) error {
	account, _ := b.accounts.Get(u.ID, u.Period)
	for p, pair := range b.delta.Pairs {
		if !u.Admitted.Get(p) {
			continue
		}
		m := &b.rules.metrics[pair.Metric]
		kept, _ := b.clip.keep(m, u.ID, u.Period, b.delta.Keys, u.Slice)
		worst, _, ok := m.price(kept)
		if !ok {
			return errOverBudget
		}
		var actual state.Mu2
		for _, k := range kept {
			precision := prices[p][k.Key]
			if precision.IsZero() {
				return errNoPrice
			}
			charge, _ := state.Charge(uint64(k.N), precision)
			actual, _ = actual.Add(charge)
		}
		if err := account.Settle(worst, actual); err != nil {
			return err
		}
	}
	return b.put(u.ID, u.Period, account)
}

// errNoPrice says that a public key is missing from a settlement. For a
// private key the first rung is the price; a public one is always released.
var errNoPrice = errors.New("a public key that was counted is missing from the settlement")

func addTally(to *schemas.PairTally, t schemas.PairTally) {
	to.Filtered += t.Filtered
	to.Clipped += t.Clipped
	to.OverBudget += t.OverBudget
	to.Counted += t.Counted
}

// compactKeys keeps the keys that some user's slice names and renumbers them.
func compactKeys(keys [][]byte, users []schemas.DeltaUser) [][]byte {
	used := make([]bool, len(keys))
	for i := range users {
		for _, e := range users[i].Slice {
			used[e.Key] = true
		}
	}
	place := make([]uint32, len(keys))
	var kept [][]byte
	for i, k := range keys {
		if used[i] {
			place[i] = uint32(len(kept))
			kept = append(kept, k)
		}
	}
	for i := range users {
		for j := range users[i].Slice {
			users[i].Slice[j].Key = place[users[i].Slice[j].Key]
		}
	}
	return kept
}

// Settlement is a settled turn: the precision at which every released key
// stopped. It is read-only and safe for concurrent use.
type Settlement struct {
	Turn uint64

	firstRungs []state.Precision
	released   map[cell]state.Precision
}

type cell struct {
	metric     uint32
	start, end int64
	key        string
}

// NewSettlement indexes a complete SETTLED record.
func NewSettlement(s schemas.Settled) *Settlement {
	n := &Settlement{Turn: s.Turn, firstRungs: s.FirstRungs, released: make(map[cell]state.Precision, len(s.Keys))}
	for _, k := range s.Keys {
		n.released[cell{k.Metric, k.WindowStart, k.WindowEnd, string(k.Key)}] = k.Precision
	}
	return n
}

// Keys is the number of released keys.
func (s *Settlement) Keys() int { return len(s.released) }

// precision is what a key's contributors pay for: where it stopped, or the
// first rung for a private key that was not released. Zero: unknown.
func (s *Settlement) precision(p schemas.Pair, key []byte, private bool) state.Precision {
	if u, ok := s.released[cell{p.Metric, p.WindowStart, p.WindowEnd, string(key)}]; ok {
		return u
	}
	if private && int(p.Metric) < len(s.firstRungs) {
		return s.firstRungs[p.Metric]
	}
	return state.Precision{}
}

// Settlements finds settled turns. Implementations must be safe for concurrent
// use.
type Settlements interface {
	Settlement(ctx context.Context, turn uint64) (*Settlement, error)
}
