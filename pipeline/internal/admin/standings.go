package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Standings returns the accounts of a user as of the last settled turn, whether the user was
// forgotten, and the end of that turn in Unix milliseconds. It does not disturb a run. Errors:
// deployment.ErrHeaderMismatch for another user-hash key or budget period, deployment.ErrLogFault,
// *spend.StopError, or the broker's error.
func (c *Change) Standings(ctx context.Context, user []byte) (all []spend.Standing, forgotten bool, asOf int64,
	err error) {
	id := schemas.NewHasher(c.dep.Config.Keys.UserHash.Reveal()).Account(user)
	asOf, err = c.asOf(ctx, func(e *spend.Engine, end int64) (err error) {
		all, forgotten, err = e.Standings(ctx, id, c.settled, wallclock.Of(c.Old.Zone).Reading(end))
		return err
	})
	return all, forgotten, asOf, err
}

// Spent returns what each account has spent, by budget period. asOf and errors are as in Standings.
func (c *Change) Spent(ctx context.Context) (all map[int64][]units.Mu2, asOf int64, err error) {
	asOf, err = c.asOf(ctx, func(e *spend.Engine, _ int64) error {
		all = map[int64][]units.Mu2{}
		for n := range int(c.Old.Shards) {
			if err := e.Spent(ctx, n, c.settled, all); err != nil {
				return err
			}
		}
		return nil
	})
	return all, asOf, err
}

// checkAccounts returns deployment.ErrHeaderMismatch if the configuration does not have the
// deployment's user-hash key and budget period, which determine the accounts.
func (c *Change) checkAccounts() error {
	want, fault := changes.Header(c.dep), ""
	if c.Old.Metrics[0].Period != want.Metrics[0].Period {
		fault = "the budget period is not that of the deployment: correct privacy.period"
	}
	if c.Old.UserHash != want.UserHash {
		fault = "the user-hash key is not that of the deployment: correct keys.user_hash"
	}
	if fault != "" {
		return fmt.Errorf("%s: %w", fault, deployment.ErrHeaderMismatch)
	}
	return nil
}

// asOf calls read with an engine and the end of the last settled turn, and returns that end. If a
// run settles turns meanwhile, asOf tries again. If no turn is settled, it does not call read.
func (c *Change) asOf(ctx context.Context, read func(e *spend.Engine, end int64) error) (end int64, err error) {
	if err := c.checkAccounts(); err != nil {
		return 0, err
	}
	const attempts = 10 // while a run is active
	for range attempts {
		if err := c.control.Update(ctx); err != nil {
			return 0, err
		}
		if err := c.ReadState(); err != nil && !errors.Is(err, deployment.ErrStopped) {
			return 0, err
		}
		var headerAt int64
		c.control.WithView(func(v *controllog.View) { headerAt = v.HeaderAt })
		if headerAt != c.control.HeaderAt {
			return 0, errors.New("reading accounts: the deployment was changed meanwhile: try again")
		}
		if end = c.turns().End(c.settled); c.settled == 0 {
			return end, nil
		}
		engine, closeLedger, err := c.oldEngine()
		if err != nil {
			return 0, err
		}
		err = read(engine, end)
		closeLedger()
		stateErr := c.CheckUnmoved(ctx)
		if errors.Is(stateErr, deployment.ErrSuperseded) {
			continue
		}
		if err = cmp.Or(err, stateErr); err != nil {
			err = fmt.Errorf("reading accounts as of turn %d: %w", c.settled, err)
		}
		return end, err
	}
	return 0, errors.New("reading accounts: a run settles turns faster than they can be read: try again when " +
		"it has caught up, or drain it")
}
