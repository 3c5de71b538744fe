package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Forget starts an epoch, records on control who removes a user and why, and removes the user from
// the ledger as of the last settled turn, which it returns. It can be repeated. Errors:
// deployment.ErrHeaderMismatch unless the configuration is in force, deployment.ErrInterruptedTurn,
// and those of TakeEpoch.
func (c *Change) Forget(ctx context.Context, user []byte, by, why string) (spend.Removed, uint64, error) {
	var removed spend.Removed
	// Forget writes accounts. With another budget period, the accounts of everybody in the shard
	// would be dropped, and under another name of the deployment, the broker would not fence off
	// older runs.
	if err := cmp.Or(c.checkAccounts(), changes.Agrees(c.dep, c.Old)); err != nil {
		return removed, 0, err
	}
	if err := c.TakeEpoch(ctx); err != nil {
		return removed, 0, err
	}
	// Control must contain the FORGET before the ledger contains the mark, because the mark would
	// have no effect under another user-hash key.
	w, err := controllog.NewWriter(ctx, c.control)
	if err != nil {
		return removed, 0, err
	}
	defer w.Close()
	if _, err := w.Append(ctx, &schemas.Forget{Epoch: c.epoch, Turn: c.settled, By: by, Why: why}); err != nil {
		return removed, 0, err
	}
	engine, done, err := c.oldEngine()
	if err != nil {
		return removed, 0, err
	}
	defer done()
	id := schemas.NewHasher(c.dep.Config.Keys.UserHash.Reveal()).Account(user)
	removed, err = engine.Forget(ctx, id, c.epoch, c.settled)
	if errors.Is(err, spend.ErrInterrupted) {
		err = Interrupted(c.settled)
	}
	if err := c.cause(ctx, err); err != nil {
		return removed, 0, fmt.Errorf("removing the user from the ledger: %w", err)
	}
	return removed, c.settled, nil
}

// Interrupted returns deployment.ErrInterruptedTurn for a command that needs a drained deployment.
func Interrupted(settled uint64) error {
	return fmt.Errorf("the turn after turn %d was interrupted: start a run, drain it, then repeat the command: %w",
		settled, deployment.ErrInterruptedTurn)
}

// Restarts returns the first offset that a run needs, by partition of the events topic.
func (c *Change) Restarts() map[int32]int64 {
	restarts := map[int32]int64{}
	if c.last != nil {
		for _, cut := range c.last.Cuts {
			restarts[cut.Partition] = cut.Restart
		}
	}
	return restarts
}
