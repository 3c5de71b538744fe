package individual

import (
	"errors"
	"fmt"
	"iter"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrTwice is returned where one round names a user twice. What one person
// contributes to a round is one loss: two that each fit may not fit together, and
// for a sum with Gaussian noise contributions add before they are squared.
var ErrTwice = errors.New("a user appears twice in one round")

// ErrNoBudget is returned for users without a filter.
var ErrNoBudget = errors.New("users need a filter that has their budget")

// Policy says for how long a user who does not fit is left out.
type Policy int

const (
	// ForRound leaves them out of that round only (Feldman and Zrnic, Algorithm 3).
	ForRound Policy = iota
	// ForGood leaves them out of that round and all later ones (the active sets of
	// their Corollary 4.7).
	ForGood
)

// Filter keeps one filter of losses L for every user, named by a key K. Not safe
// for concurrent use.
type Filter[K comparable, L any] struct {
	value[users[K, L], *users[K, L]]
}

type users[K comparable, L any] struct {
	policy   Policy
	fresh    filter.Filter[L] // nothing is spent of it
	accounts map[K]*account[L]
	round    uint64
}

type account[L any] struct {
	filter filter.Filter[L]
	round  uint64 // the last one that named this user
	out    bool   // for good
}

// New returns a Filter in which every user has a filter of the type and budget of budget, whatever
// was spent of that: New[int](ForRound, f) for users who are named by integers. The error
// is a *units.RangeError for the policy, or ErrNoBudget.
func New[K comparable, L any](policy Policy, budget filter.Filter[L]) (*Filter[K, L], error) {
	if policy != ForRound && policy != ForGood {
		return nil, &units.RangeError{Parameter: "policy", Value: float64(policy), Range: "ForRound (0) or ForGood (1)"}
	}
	if budget == nil {
		return nil, ErrNoBudget
	}
	return &Filter[K, L]{stored.New(users[K, L]{policy: policy, fresh: budget.Fresh(), accounts: make(map[K]*account[L])})}, nil
}

// NewGDPFor is New for users who are named by strings, Gaussian losses, and the budget that
// (ε, δ) allows: filter.NewGDPFor, computed once. The error is a *units.RangeError.
func NewGDPFor(policy Policy, budget loss.Approx) (*Filter[string, loss.GDP], error) {
	f, err := filter.NewGDPFor(budget)
	if err != nil {
		return nil, fmt.Errorf("making a user's filter: %w", err)
	}
	return New[string](policy, f)
}

// NewZCDPFor is New for users who are named by strings, zCDP losses, and the budget that
// (ε, δ) allows: filter.NewZCDPOptimal, computed once. The error is a *units.RangeError.
func NewZCDPFor(policy Policy, budget loss.Approx) (*Filter[string, loss.ZCDP], error) {
	f, err := filter.NewZCDPOptimal(budget)
	if err != nil {
		return nil, fmt.Errorf("making a user's filter: %w", err)
	}
	return New[string](policy, f)
}

func (f *Filter[K, L]) users() *users[K, L] { return stored.Of(&f.value) }

// Active is who takes part in one round. It depends on private data.
type Active[K comparable] struct {
	Users   []K // in the order given
	LeftOut int // users whose loss did not fit, or who are out for good
	Invalid int // users left out because their loss was invalid (NaN, negative, …)
}

// Round determines the active users of the next round and charges them, before the
// round's mechanism runs. losses yields every user the mechanism would read, once,
// with a bound on their individual loss; a user it does not yield must not be read.
// A user who is not active pays nothing, and whether a user is active does not depend on another
// user.
//
// After an error, ErrTwice, the mechanism must not run.
// Users that were charged before it stay charged, which does not harm privacy. The
// time for one user does not depend on what was charged before.
func (f *Filter[K, L]) Round(losses iter.Seq2[K, L]) (Active[K], error) {
	u := f.users()
	u.round++
	var active Active[K]
	for user, l := range losses {
		admitted, err := u.admit(user, l)
		switch {
		case err == nil && admitted:
			active.Users = append(active.Users, user)
		case err == nil, errors.Is(err, filter.ErrExceeded):
			active.LeftOut++
		case errors.Is(err, errInvalid):
			active.Invalid++
		default:
			return Active[K]{}, fmt.Errorf("determining the active users of round %d: %w", u.round, err)
		}
	}
	return active, nil
}

var errInvalid = errors.New("loss is invalid")

// admit charges user for this round, or returns false or an error: ErrExceeded,
// errInvalid, or one that ends the round.
func (u *users[K, L]) admit(user K, l L) (bool, error) {
	a, ok := u.accounts[user]
	if !ok {
		a = &account[L]{filter: u.fresh.Fresh()}
		u.accounts[user] = a
	}
	if a.round == u.round {
		return false, ErrTwice
	}
	a.round = u.round
	if a.out {
		return false, nil
	}
	err := a.filter.Spend(l)
	if err == nil {
		return true, nil
	}
	a.out = u.policy == ForGood
	if errors.Is(err, filter.ErrExceeded) {
		return false, filter.ErrExceeded
	}
	return false, errInvalid
}

// Left returns the largest loss that still fits the user's budget: all of it for a
// user who was never named, and the zero value, whatever is left, for one who is
// out for good. It changes nothing.
func (f *Filter[K, L]) Left(user K) L {
	a, ok := f.users().accounts[user]
	switch {
	case !ok:
		return f.users().fresh.Left()
	case a.out:
		var none L
		return none
	}
	return a.filter.Left()
}

// Spent returns what was charged to the user, all together, as one loss, rounded up;
// also to one who is out for good. It changes nothing, and depends on private data.
func (f *Filter[K, L]) Spent(user K) L {
	if a, ok := f.users().accounts[user]; ok {
		return a.filter.Spent()
	}
	return f.users().fresh.Spent()
}

// Budget returns every user's budget, rounded down.
func (f *Filter[K, L]) Budget() L { return f.users().fresh.Budget() }

// Users returns how many users have an account. It depends on private data.
func (f *Filter[K, L]) Users() int { return len(f.users().accounts) }

func (*users[K, L]) Kind() stored.Kind { return "individual.Filter" }

// Blank is of the same policy and budget: the type of users' filters is not stored.
func (u *users[K, L]) Blank() (users[K, L], bool) {
	return users[K, L]{policy: u.policy, fresh: u.fresh}, u.fresh != nil
}

func (u *users[K, L]) Layout(c *stored.Codec) {
	policy := u.policy == ForGood
	c.Parameters.Flag(&policy)
	c.Check(policy == (u.policy == ForGood), "it has another policy than the value that it is read into")
	same(c, u.fresh)
	c.Progress.Uint(&u.round)
	layoutUsers(c, &u.accounts, func(a **account[L]) {
		if c.Reading() {
			*a = &account[L]{filter: u.fresh.Fresh()}
		}
		c.Progress.Flag(&(*a).out)
		c.Check(!(*a).out || u.policy == ForGood, "a user is out for good, which the policy does not know")
		c.Progress.Value((*a).filter)
	})
}
