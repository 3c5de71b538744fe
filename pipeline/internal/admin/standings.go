package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Standings returns the accounts of one user as of the last settled turn, and when that ended, in
// Unix milliseconds. It takes nothing from a run that goes on. Errors: deployment.ErrHeaderMismatch
// for another user-hash key, deployment.ErrLogFault, *spend.StopError, or the broker's error.
func (c *Change) Standings(ctx context.Context, user []byte) (all []spend.Standing, asOf int64, err error) {
	key := c.dep.Config.Keys.UserHash.Reveal()
	if c.Old.UserHash != schemas.KeyFingerprintOf("user-hash", key) {
		return nil, 0, fmt.Errorf("the user-hash key is not that of the deployment: correct keys.user_hash: %w",
			deployment.ErrHeaderMismatch)
	}
	id := schemas.NewHasher(key).Account(user)
	const attempts = 10 // while a run goes on
	for range attempts {
		if err := c.control.Update(ctx); err != nil {
			return nil, 0, err
		}
		if err := c.ReadState(); err != nil && !errors.Is(err, deployment.ErrStopped) {
			return nil, 0, err
		}
		var headerAt int64
		c.control.WithView(func(v *controllog.View) { headerAt = v.HeaderAt })
		if headerAt != c.control.HeaderAt {
			return nil, 0, errors.New("reading the account of a user: the deployment was changed meanwhile: try again")
		}
		if asOf = c.turns().End(c.settled); c.settled == 0 {
			return nil, asOf, nil
		}
		engine, done, err := c.oldEngine()
		if err != nil {
			return nil, 0, err
		}
		all, err = engine.Standings(ctx, id, c.settled, wallclock.Of(c.Old.Zone).Reading(asOf))
		done()
		moved := c.CheckUnmoved(ctx)
		if errors.Is(moved, deployment.ErrSuperseded) {
			continue
		}
		if err = cmp.Or(err, moved); err != nil {
			err = fmt.Errorf("reading the account of a user as of turn %d: %w", c.settled, err)
		}
		return all, asOf, err
	}
	return nil, 0,
		errors.New("reading the account of a user: a run settles turns faster than they can be read: try again when " +
			"it has caught up, or drain it")
}
