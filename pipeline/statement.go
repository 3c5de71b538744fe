package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/admin"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Statement lists how much of the budget one user has spent, for that user and the trusted side.
type Statement struct {
	Deployment string    `json:"deployment"`
	AsOf       time.Time `json:"as_of"`   // end of the last settled turn, UTC
	Epsilon    float64   `json:"epsilon"` // the promise, for each budget period if there are periods
	Delta      float64   `json:"delta"`
	DeltaKeys  float64   `json:"delta_keys,omitempty"` // part of Delta that private keys may spend
	Planned    float64   `json:"planned,omitempty"`    // part of the promise spent on the choice of settings
	// Forgotten is set if Forget has removed the user's accounts.
	Forgotten bool `json:"forgotten,omitempty"`
	// Accounts are the user's accounts on the ledger: one for each budget period, or one for life.
	// The list is empty if no released value counts this user, or only values of past periods do.
	Accounts []StatementAccount `json:"accounts"`
}

// BudgetPeriod is a budget period, UTC. From and To are nil if the budget is for life.
type BudgetPeriod struct {
	From *time.Time `json:"from,omitempty"`
	To   *time.Time `json:"to,omitempty"`
}

// StatementAccount is one user's spending in one budget period.
type StatementAccount struct {
	BudgetPeriod
	// Share is the spent part of the budget B². Epsilon is the ε of all releases together at
	// Statement.Delta, which includes DeltaKeys; it is rounded up. Noise is the standard deviation
	// of a single Gaussian release of sensitivity 1 with the same cost; 0 if nothing is spent.
	Share   float64 `json:"share_spent"`
	Epsilon float64 `json:"epsilon_spent"`
	Noise   float64 `json:"noise_multiplier,omitempty"`
	// Releases are the releases of the last charged turns, in order. Earlier is the part of the
	// budget spent on all older releases: the ledger contains only their sum.
	Releases []StatementRelease `json:"releases"`
	Earlier  float64            `json:"share_spent_earlier"`
	// Events are all releases in the format of the library dp_accounting, with Earlier first. Their
	// composition costs Epsilon at Delta − DeltaKeys.
	Events []DPEvent `json:"dp_events"`
	// Allowances are the unspent parts of the metrics' allowances.
	Allowances []StatementAllowance `json:"allowances"`
}

// StatementRelease is the user's cost for the values of one metric in one window.
type StatementRelease struct {
	Metric string    `json:"metric"`
	From   time.Time `json:"from"` // start of the window, UTC
	To     time.Time `json:"to"`
	Share  float64   `json:"share_spent"`
}

// DPEvent is a Gaussian release in the format of the library dp_accounting.
type DPEvent struct {
	Gaussian struct {
		Noise float64 `json:"noise_multiplier"`
	} `json:"GaussianDpEvent"`
}

func dpEvent(cost units.Mu2) (e DPEvent) {
	e.Gaussian.Noise = 1 / cost.Mu()
	return e
}

// StatementAllowance is the unspent part of a metric's allowance.
type StatementAllowance struct {
	Metric string  `json:"metric"`
	Left   float64 `json:"share_left"` // part of the burst, 0 to 1
}

// SpentByAll is the exact spending of all users by budget period, for the trusted side only.
type SpentByAll struct {
	AsOf    time.Time       `json:"as_of"`
	Periods []SpentInPeriod `json:"periods"`
}

// SpentInPeriod describes the spending of the users with an account in one budget period.
type SpentInPeriod struct {
	BudgetPeriod
	Users     int             `json:"users"`
	Quantiles []SpentQuantile `json:"quantiles"`
}

// SpentQuantile is a quantile: the part Users of the users has spent at most Share of the budget.
type SpentQuantile struct {
	Users   float64 `json:"part_of_users"`
	Share   float64 `json:"share_spent"`
	Epsilon float64 `json:"epsilon_spent"` // ε of Share, rounded up
}

// ReadSpentByAll returns the spending of all users in each budget period on the ledger. It needs
// memory for one shard, plus eight bytes for every account. Errors are as in ReadStatement.
func ReadSpentByAll(ctx context.Context, d *deployment.Deployment) (*SpentByAll, error) {
	out := &SpentByAll{Periods: []SpentInPeriod{}}
	err := readAccounts(ctx, d, func(c *admin.Change) error {
		accounts, asOf, err := c.Spent(ctx)
		out.AsOf = utc(asOf)
		for _, period := range slices.Sorted(maps.Keys(accounts)) {
			spent := slices.Sorted(slices.Values(accounts[period]))
			summary := SpentInPeriod{BudgetPeriod: periodOf(d, c.Old, period), Users: len(spent)}
			for _, part := range []float64{0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1} {
				quantile := spent[int(math.Ceil(part*float64(len(spent))))-1]
				summary.Quantiles = append(summary.Quantiles,
					SpentQuantile{part, shareOf(quantile, c.Old), epsilonOf(quantile, c.Old)})
			}
			out.Periods = append(out.Periods, summary)
		}
		return err
	})
	return out, err
}

func readAccounts(ctx context.Context, d *deployment.Deployment, read func(*admin.Change) error) error {
	client, control, _, err := openDeployment(ctx, d, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer client.Close()
	return read(admin.NewChange(d, client, control))
}

func shareOf(spent units.Mu2, h *schemas.Header) float64 {
	return float64(spent) / float64(h.Budget.Mu2)
}

func epsilonOf(spent units.Mu2, h *schemas.Header) float64 {
	return budgets.EpsilonOf(spent, h.Budget.Delta-h.Budget.Whole().Keys.Float(), h.Budget.Accountant)
}

func periodOf(d *deployment.Deployment, h *schemas.Header, period int64) (p BudgetPeriod) {
	if length := d.Config.Privacy.Period.Milliseconds(); length > 0 {
		clock := wallclock.Of(h.Zone)
		from, to := utc(clock.Time(period*length)), utc(clock.Time((period+1)*length))
		p = BudgetPeriod{&from, &to}
	}
	return p
}

func utc(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

// ReadStatement reads the spending of a user from the ledger, as of the last settled turn. It does
// not disturb a run. Errors: ErrNotInitialised, ErrHeaderMismatch if the user-hash key or the
// budget period differs, ErrLogFault, or an error of schemas.ValidateUser or the broker.
func ReadStatement(ctx context.Context, d *deployment.Deployment, user []byte) (out *Statement, err error) {
	if err := schemas.ValidateUser(user); err != nil {
		return nil, fmt.Errorf("reading the account of a user: %w", err)
	}
	err = readAccounts(ctx, d, func(c *admin.Change) error {
		standings, forgotten, asOf, err := c.Standings(ctx, user)
		h := c.Old
		out = &Statement{Deployment: h.Deployment, AsOf: utc(asOf), Epsilon: h.Budget.Epsilon, Delta: h.Budget.Delta,
			DeltaKeys: h.Budget.Whole().Keys.Float(), Planned: h.Budget.Planned.Share, Forgotten: forgotten,
			Accounts: []StatementAccount{}}
		for i := range standings {
			a := accountOf(&standings[i], h)
			a.BudgetPeriod = periodOf(d, h, standings[i].Period)
			out.Accounts = append(out.Accounts, a)
		}
		return err
	})
	return out, err
}

func accountOf(s *spend.Standing, h *schemas.Header) StatementAccount {
	a := StatementAccount{Share: shareOf(s.Spent, h), Epsilon: epsilonOf(s.Spent, h), Releases: []StatementRelease{},
		Events: []DPEvent{}}
	if s.Spent > 0 {
		a.Noise = 1 / s.Spent.Mu()
	}
	clock, earlier := wallclock.Of(h.Zone), s.Spent
	for _, p := range s.Paid {
		a.Releases = append(a.Releases, StatementRelease{p.Metric, utc(clock.Time(p.WindowStart)),
			utc(clock.Time(p.WindowEnd)), shareOf(p.Cost, h)})
		a.Events = append(a.Events, dpEvent(p.Cost))
		earlier -= p.Cost
	}
	if a.Earlier = shareOf(earlier, h); earlier > 0 {
		a.Events = append([]DPEvent{dpEvent(earlier)}, a.Events...)
	}
	for _, l := range s.Left {
		a.Allowances = append(a.Allowances, StatementAllowance{l.Metric, float64(l.Left) / float64(l.Burst)})
	}
	return a
}
