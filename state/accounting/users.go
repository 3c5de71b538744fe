package accounting

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrTwice means that a user appears twice in one round. All contributions of one person to a round
// must be one loss: two losses that fit separately may not fit together, and with Gaussian noise
// contributions add up before they are squared.
var ErrTwice = errors.New("a user appears twice in one round")

// ErrNoBudget means that NewPerUser was called without a filter.
var ErrNoBudget = errors.New("users need a filter with their budget")

// Policy states for how long a user is left out after a loss that does not fit.
type Policy int

const (
	// ForRound leaves the user out of that round only (Feldman and Zrnic, Algorithm 3).
	ForRound Policy = iota
	// ForGood leaves the user out of that round and all later rounds (the active sets of Feldman
	// and Zrnic, Corollary 4.7). A later round never includes a user who was left out before.
	ForGood
)

// PerUser keeps a Filter for every user. A user is identified by a key of type K. Each round leaves
// out the users whose loss no longer fits, so that the others can continue.
//
// PerUser implements Algorithm 3 of Feldman and Zrnic with a Rényi or zCDP filter, Algorithm 1 of
// Koskela, Tobaben and Honkela with a Gaussian filter, and the same algorithm with any other
// filter. Under the removal of one user, everything released together is private to within the
// filter's budget: (α, B)-RDP (Feldman and Zrnic, Theorem 4.5), κ-zCDP (Remark 4.4), B-GDP (Koskela
// et al., Theorem 12), or whatever the filter promises. The caller must ensure that:
//
//   - A user's loss bounds what the removal of this user reveals, on every data set that includes
//     the user (Definition 2.5, not 2.6). For a sum with Gaussian noise, it is the user's own
//     contribution divided by σ. A bound that holds only for the actual data is not enough: whether
//     others are active would depend on this user.
//   - A loss is a function of the user's own data and of earlier releases. Nothing else, such as a
//     cap on the number of users, affects who is active.
//   - The mechanism of a round runs once and reads only the data of the active users.
//   - A key stands for the same person (or other unit of privacy) in all rounds.
//
// A user who returns after a refusal is also covered. For a single user, the rounds that leave the
// user out are mechanisms with loss 0. The filtered rounds are thus one adaptive composition in
// which the user's filter never refuses. The proof of Feldman and Zrnic's Theorem 4.5 is this
// argument for Rényi divergence. For GDP, the argument is Koskela et al.'s Theorem 11, applied to
// the filtered mechanisms.
//
// Private data determines who is active, how many users are active, how much is left of a budget,
// and whether a round left users out: publish none of these. Leaving users out biases whatever is
// computed from the remaining users. Accounts are kept in memory and are never deleted.
//
// A stored state contains every account, in ascending order of the encoded keys. To be stored, keys
// must be strings or have a fixed size in encoding/binary. A state is private data.
type PerUser[K comparable, L any] struct {
	accounts.NoJSON
	policy   Policy
	filter   *Filter[L] // unused
	accounts map[K]*account
	round    uint64
}

type account struct {
	meters []fixed.Meter // meters of the user's filter
	round  uint64        // last round in which the user appeared
	out    bool          // left out of all later rounds
}

// NewPerUser returns a PerUser in which every user has an unused filter with the limits of budget.
// The error is a *units.RangeError for the policy, or ErrNoBudget.
func NewPerUser[K comparable, L any](policy Policy, budget *Filter[L]) (*PerUser[K, L], error) {
	if err := units.Require(policy == ForRound || policy == ForGood, "policy", float64(policy),
		"ForRound (0) or ForGood (1)"); err != nil {
		return nil, err
	}
	if budget == nil || budget.rule == nil {
		return nil, ErrNoBudget
	}
	return &PerUser[K, L]{policy: policy, filter: budget.Fresh(), accounts: make(map[K]*account)}, nil
}

// Active contains the active users of one round. It depends on private data.
type Active[K comparable] struct {
	Users   []K // in the order in which losses yielded them
	LeftOut int // number of users whose loss did not fit, now or (under ForGood) earlier
	Invalid int // number of users left out because their loss was invalid (NaN, negative, …)
}

// Round determines the active users of the next round and charges them. Call it before the round's
// mechanism runs. losses yields, once, every user whose data the mechanism would read, with a bound
// on the user's individual loss. The mechanism must not read the data of any other user. A user who
// is not active pays nothing. Whether a user is active does not depend on other users.
//
// The only error is ErrTwice. The mechanism must then not run. Users who were charged before the
// error stay charged, which does not harm privacy.
func (p *PerUser[K, L]) Round(losses iter.Seq2[K, L]) (Active[K], error) {
	p.round++
	var active Active[K]
	for user, l := range losses {
		switch err := p.admit(user, l); {
		case err == nil:
			active.Users = append(active.Users, user)
		case errors.Is(err, ErrTwice):
			return Active[K]{}, fmt.Errorf("determining the active users of round %d: %w", p.round, err)
		case errors.Is(err, ErrExceeded):
			active.LeftOut++
		default:
			active.Invalid++
		}
	}
	return active, nil
}

// admit charges user for this round. The error is ErrTwice, ErrExceeded, or a *units.RangeError.
func (p *PerUser[K, L]) admit(user K, l L) error {
	a, ok := p.accounts[user]
	if !ok {
		a = &account{meters: p.filter.fresh()}
		p.accounts[user] = a
	}
	if a.round == p.round {
		return ErrTwice
	}
	a.round = p.round
	if a.out {
		return ErrExceeded
	}
	err := p.filterOf(a).Spend(l)
	a.out = err != nil && p.policy == ForGood
	return err
}

// filterOf returns the filter of an account. The filter is valid until the next call.
func (p *PerUser[K, L]) filterOf(a *account) *Filter[L] {
	return &Filter[L]{rule: p.filter.rule, meters: a.meters, prices: p.filter.prices}
}

// Left returns the largest loss that still fits into the user's budget. It returns the full budget
// for a user without an account, and the zero value for a user who is left out for good.
func (p *PerUser[K, L]) Left(user K) (l L) {
	switch a, ok := p.accounts[user]; {
	case !ok:
		return p.filter.Left()
	case a.out:
		return l
	default:
		return p.filterOf(a).Left()
	}
}

// Spent returns the user's charges, rounded up, even if the user is left out for good. The result
// depends on private data.
func (p *PerUser[K, L]) Spent(user K) L {
	if a, ok := p.accounts[user]; ok {
		return p.filterOf(a).Spent()
	}
	return p.filter.Spent()
}

// Budget returns every user's budget, rounded down.
func (p *PerUser[K, L]) Budget() L { return p.filter.Budget() }

// Users returns the number of users with an account, which depends on private data.
func (p *PerUser[K, L]) Users() int { return len(p.accounts) }

func (p *PerUser[K, L]) header() header {
	return header{"users' filters", append([]byte{formatVersion, 'u', byte(p.policy)}, p.filter.rule.bytes...)}
}

// MarshalBinary returns every user's account; see the package comment.
func (p *PerUser[K, L]) MarshalBinary() ([]byte, error) {
	users := make([][]byte, 0, len(p.accounts))
	for user, a := range p.accounts {
		b, err := appendKey(nil, user)
		if err != nil {
			return nil, fmt.Errorf("storing a user's key: %w", err)
		}
		b = append(b, 0)
		if a.out {
			b[len(b)-1] = 1
		}
		users = append(users, appendAmounts(b, p.filterOf(a).amounts()...))
	}
	slices.SortFunc(users, bytes.Compare)
	return slices.Concat(append([][]byte{p.header().bytes}, users...)...), nil
}

// UnmarshalBinary resumes a stored state; see the package comment.
func (p *PerUser[K, L]) UnmarshalBinary(data []byte) error {
	h := p.header()
	rest, err := h.cut(data)
	if err != nil {
		return err
	}
	if len(p.accounts) > 0 {
		return h.errUsed()
	}
	read := make(map[K]*account)
	size := 1 + (len(p.filter.meters)+1)*fixed.Size
	var last []byte
	for len(rest) > 0 {
		var user K
		n, err := readKey(rest, &user)
		if err != nil || len(rest)-n < size {
			return h.refuse("it is truncated, or its keys have another type")
		}
		if _, twice := read[user]; twice || bytes.Compare(last, rest[:n]) >= 0 {
			return h.refuse("its users are not in ascending order")
		}
		last = rest[:n]
		out := rest[n]
		if out > 1 || out == 1 && p.policy != ForGood {
			return h.refuse("a user is out for good, which the policy does not allow")
		}
		meters, err := p.filter.resumed(rest[n+1 : n+size])
		if err != nil {
			return err
		}
		read[user] = &account{meters: meters, out: out == 1}
		rest = rest[n+size:]
	}
	p.accounts = read
	return nil
}

// appendKey appends a key: a string after its length, or another key by encoding/binary.
func appendKey[K comparable](b []byte, key K) ([]byte, error) {
	if s, ok := any(key).(string); ok {
		return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...), nil
	}
	return binary.Append(b, binary.BigEndian, key) //nolint:wrapcheck // wrapped by the caller
}

// readKey decodes a key that appendKey wrote and returns the number of bytes read.
func readKey[K comparable](b []byte, key *K) (int, error) {
	s, ok := any(key).(*string)
	if !ok {
		return binary.Decode(b, binary.BigEndian, key) //nolint:wrapcheck // replaced by the caller
	}
	if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
		return 0, io.ErrUnexpectedEOF
	}
	n := 4 + int(binary.BigEndian.Uint32(b))
	*s = string(b[4:n])
	return n, nil
}
