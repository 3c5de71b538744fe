package spend

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// errOverBudget is returned if the ledger admits a user whose budget does not cover the cost.
var errOverBudget = errors.New("an admitted user's worst case does not fit the budget")

var errNothingKept = errors.New("a user was admitted to a window without contributing to it")

var errOtherWindows = errors.New("the decided windows are not those that end with the turn")

// errUserMissed is returned if the users in the delta from the ledger are out of order, or if one
// of them does not contribute to any of the windows.
var errUserMissed = errors.New("the users in the ledger's delta are out of order or did not contribute to its windows")

// shardAccounts holds the accounts of one shard as of a turn. While a turn is decided but not
// settled, the worst-case costs of its admitted users are reserved.
type shardAccounts struct {
	rules   *Rules
	windows Windows
	clip    *clipper
	store   *accounts.Shard
	open    []openSlice // slices of the windows that end after turn, in ascending order
	turn    uint64      // last decided turn
	decided *decision   // decision of that turn; nil after the turn is charged
	period  int64       // first budget period whose accounts have not been dropped
	// forgotten lists the marks of forgotten users, in ascending order.
	forgotten []schemas.ForgottenMark

	observe onCharge     // may be nil
	scratch *scratch     // used while a turn is decided
	charged reservations // reservations of the turn charged last, whose memory is reused
}

// onCharge is called for each charge to an account. w is the window that the account pays for.
type onCharge func(id accounts.ID, period int64, w schemas.MetricWindow, cost units.Mu2)

// decision is a turn that has been decided but not charged.
type decision struct {
	delta        *schemas.Delta
	ended        *endedWindows
	reservations reservations
}

func newShardAccounts(r *Rules, w Windows) *shardAccounts {
	return &shardAccounts{rules: r, windows: w, clip: newClipper(r), store: accounts.NewShard(), period: math.MinInt64,
		scratch: new(scratch)}
}

// isForgotten reports whether the user of an account was forgotten.
func (a *shardAccounts) isForgotten(id accounts.ID) bool {
	if len(a.forgotten) == 0 {
		return false
	}
	_, found := slices.BinarySearchFunc(a.forgotten, a.clip.hasher.Forgotten(id), schemas.ForgottenMark.Compare)
	return found
}

func (a *shardAccounts) metric(w schemas.MetricWindow) (*metric, error) {
	if int(w.Metric) >= len(a.rules.metrics) {
		return nil, fmt.Errorf("reading a delta: it refers to metric %d, but there are only %d", w.Metric,
			len(a.rules.metrics))
	}
	return &a.rules.metrics[w.Metric], nil
}

// storeAccount stores a user's account. The user's reservations start at index from.
func (a *shardAccounts) storeAccount(place int, u *member, account accounts.Account, to *reservations, from int) error {
	place, err := a.store.PutAt(place, u.ID, u.Period, account)
	if err != nil {
		return fmt.Errorf("keeping an account: %w", err)
	}
	to.setAccount(place, from)
	return nil
}

// checkNext returns an error unless the turn follows the last decided turn, which is charged.
func (a *shardAccounts) checkNext(turn uint64) error {
	if turn != a.turn+1 || a.decided != nil {
		return fmt.Errorf("deciding turn %d out of order: the last turn is %d, charged: %v", turn, a.turn,
			a.decided == nil)
	}
	return nil
}
