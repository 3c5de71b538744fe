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
// the ledger as of the last settled turn. It returns that turn, and can be repeated. Errors:
// deployment.ErrHeaderMismatch if the configuration is not in force, deployment.ErrInterruptedTurn,
// and the errors of TakeEpoch.
func (c *Change) Forget(ctx context.Context, user []byte, by, why string) (spend.Removed, uint64, error) {
	var removed spend.Removed
	// Forget writes accounts. With another budget period, it would drop the accounts of everybody
	// in the shard. With another deployment name, the broker would not fence off older runs.
	if err := cmp.Or(c.checkAccounts(), changes.Agrees(c.dep, c.Old)); err != nil {
		return removed, 0, err
	}
	if err := c.TakeEpoch(ctx); err != nil {
		return removed, 0, err
	}
	// The FORGET must be on control before the mark is on the ledger, because the mark has no
	// effect under another user-hash key.
	w, err := controllog.NewWriter(ctx, c.control)
	if err != nil {
		return removed, 0, err
	}
	defer w.Close()
	if _, err := w.Append(ctx, &schemas.Forget{Epoch: c.epoch, Turn: c.settled, By: by, Why: why}); err != nil {
		return removed, 0, err
	}
	engine, closeLedger, err := c.oldEngine()
	if err != nil {
		return removed, 0, err
	}
	defer closeLedger()
	id := schemas.NewHasher(c.dep.Config.Keys.UserHash.Reveal()).Account(user)
	removed, err = engine.Forget(ctx, id, c.epoch, c.settled)
	if errors.Is(err, spend.ErrInterrupted) {
		err = Interrupted(c.settled)
	}
	if err := c.supersededOr(ctx, err); err != nil {
		return removed, 0, fmt.Errorf("removing the user from the ledger: %w", err)
	}
	return removed, c.settled, nil
}

// Interrupted returns deployment.ErrInterruptedTurn for a command that needs a drained deployment.
func Interrupted(settled uint64) error {
	return fmt.Errorf("the turn after turn %d was interrupted: start a run, drain it, then repeat the command: %w",
		settled, deployment.ErrInterruptedTurn)
}

// Restarts returns, by partition of the events topic, the first offset that a run needs.
func (c *Change) Restarts() map[int32]int64 {
	restarts := map[int32]int64{}
	if c.last != nil {
		for _, cut := range c.last.Cuts {
			restarts[cut.Partition] = cut.Restart
		}
	}
	return restarts
}
