package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/admin"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Statement is what one user has spent of the promise. It is for that user and the trusted side.
type Statement struct {
	Deployment string    `json:"deployment"`
	AsOf       time.Time `json:"as_of"`   // end of the last settled turn, UTC
	Epsilon    float64   `json:"epsilon"` // the promise, of each period if there are periods
	Delta      float64   `json:"delta"`
	Planned    float64   `json:"planned,omitempty"` // part of the promise that was spent on choosing settings
	// Accounts are those that are kept: one for each budget period, or one for life. None: no
	// released value counts this user, or only values of periods that are over.
	Accounts []StatementAccount `json:"accounts"`
}

// StatementAccount is what a user has spent in one budget period.
type StatementAccount struct {
	From *time.Time `json:"from,omitempty"` // the period, UTC; nil with one budget for life
	To   *time.Time `json:"to,omitempty"`
	// Share is the spent part of the budget B². Epsilon, rounded up, is the ε at Statement.Delta of
	// all releases together. Noise is the equivalent noise of a single Gaussian release of
	// sensitivity 1, for GaussianDpEvent(noise_multiplier) of dp_accounting.
	Share   float64 `json:"share_spent"`
	Epsilon float64 `json:"epsilon_spent"`
	Noise   float64 `json:"noise_multiplier"`
	// Allowances are the parts of full buckets that are left, by metric.
	Allowances []StatementAllowance `json:"allowances"`
}

// StatementAllowance is the unspent part of a metric's allowance.
type StatementAllowance struct {
	Metric string  `json:"metric"`
	Left   float64 `json:"share_left"` // part of the burst, 0 to 1
}

// ReadStatement returns what the user with this id has spent, by the ledger, as of the last settled
// turn. It changes nothing, and a run may go on. Errors: ErrNotInitialised, ErrHeaderMismatch for
// another user-hash key, ErrLogFault, schemas.ValidateUser's, or the broker's error.
func ReadStatement(ctx context.Context, d *deployment.Deployment, user []byte) (*Statement, error) {
	if err := schemas.ValidateUser(user); err != nil {
		return nil, fmt.Errorf("reading the account of a user: %w", err)
	}
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	control, _, err := openControl(ctx, d, client, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	h := control.Header
	standings, asOf, err := admin.NewChange(d, client, control).Standings(ctx, user)
	if err != nil {
		return nil, err
	}
	out := &Statement{
		Deployment: h.Deployment, AsOf: time.UnixMilli(asOf).UTC(), Epsilon: h.Budget.Epsilon, Delta: h.Budget.Delta,
		Planned:  h.Budget.Planned.Share,
		Accounts: []StatementAccount{},
	}
	clock, period := wallclock.Of(h.Zone), d.Config.Privacy.Period.Milliseconds()
	for _, s := range standings {
		a := StatementAccount{
			Share:   float64(s.Spent) / float64(h.Budget.Mu2),
			Epsilon: budgets.EpsilonOf(s.Spent, h.Budget.Delta-h.Budget.Whole().Keys.Float(), h.Budget.Accountant),
			Noise:   1 / s.Spent.Mu(),
		}
		if period > 0 {
			from, to := time.UnixMilli(clock.Time(s.Period*period)).UTC(),
				time.UnixMilli(clock.Time((s.Period+1)*period)).UTC()
			a.From, a.To = &from, &to
		}
		for _, left := range s.Left {
			a.Allowances = append(a.Allowances, StatementAllowance{left.Metric,
				float64(left.Left) / float64(left.Burst)})
		}
		out.Accounts = append(out.Accounts, a)
	}
	return out, nil
}
