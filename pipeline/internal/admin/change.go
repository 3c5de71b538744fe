package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/generations"
	"github.com/tollgate-dp/tollgate/pipeline/internal/ledgerlog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Change is one change of a deployment that is under way. Its steps, in order: Unused,
// Begin, Generation (whose result goes to Next), Store, Write. Not for concurrent use.
type Change struct {
	dep     *deployment.Deployment // as it shall be
	client  *kafkalog.Client
	control *controllog.Log
	Old     *schemas.Header     // of the generation in force
	Next    schemas.Header      // of the generation that is to follow; the caller sets it
	epoch   int64               // the offset of the change's own EPOCH
	Settled uint64              // the last settled turn, after Begin; a dry run sets it
	last    *controllog.Closing // the CLOSE of that turn
}

// NewChange prepares the change from the generation that was in force when the control log
// was opened, to the configuration of d.
func NewChange(d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log) *Change {
	return &Change{dep: d, client: client, control: control, Old: control.Header}
}

// Unused refuses a new ledger or counts topic that holds anything but what an
// interrupted change has left there.
func (c *Change) Unused(ctx context.Context) error {
	out := &c.dep.Config.Outputs
	if out.Ledger != c.Old.Topics.Ledger {
		if err := c.unusedLedger(ctx, out.Ledger); err != nil {
			return err
		}
	}
	if out.Counts == c.Old.Topics.Counts {
		return nil
	}
	held, err := topicrules.HoldsRecords(ctx, c.client, out.Counts, nil)
	if err != nil {
		return err
	}
	if held {
		return &deployment.TopicError{Topic: out.Counts, Got: "holds records and the deployment has never written to it", Fix: "name a counts topic that is empty"}
	}
	return nil
}

// unusedLedger refuses a new ledger topic with decisions on it, or with snapshots of
// turns that are not settled here: a shard that was restored from them would give users
// the accounts of others. Snapshots of settled turns may be those of an interrupted
// change; any others are found when the shards are stored.
func (c *Change) unusedLedger(ctx context.Context, topic string) error {
	var settled uint64
	c.control.Look(func(v *controllog.View) { settled = v.Settled })
	ids, err := c.client.Partitions(ctx, topic)
	if err != nil {
		return fmt.Errorf("looking at the new ledger: %w", err)
	}
	for _, id := range ids {
		bounds, err := c.client.Offsets(ctx, topic, id)
		if err != nil {
			return fmt.Errorf("looking at the new ledger: %w", err)
		}
		err = c.client.ReadRange(ctx, topic, id, bounds.Start, bounds.High, func(r kafkalog.Record) error {
			part, err := schemas.DecodeLedgerPart(r.Key, r.Value)
			if err == nil && part.Key.Kind == schemas.KindSnapshotPart && part.Set.Turn <= settled {
				return nil
			}
			return foreignLedger(topic, err)
		})
		if err != nil {
			return fmt.Errorf("looking at partition %d of the new ledger: %w", id, err)
		}
	}
	return nil
}

func foreignLedger(topic string, err error) error {
	return &deployment.TopicError{Topic: topic, Got: "holds records that this deployment has never written", Fix: "name a ledger topic that is empty", Err: err}
}

// Begin takes an epoch, so that no run goes on, and finds out where the
// deployment stands. Errors: deployment.ErrStopped, deployment.ErrSuperseded,
// deployment.ErrLogFault, or what the broker said.
func (c *Change) Begin(ctx context.Context) error {
	var stop *schemas.Stop
	var settled uint64
	c.control.Look(func(v *controllog.View) { stop, settled = v.Stop, v.Settled })
	if stop != nil {
		return controllog.Stopped(stop)
	}
	w, err := controllog.NewWriter(ctx, c.control)
	if err != nil {
		return err
	}
	defer w.Close()
	offsets, err := w.Append(ctx, &schemas.Epoch{RunID: c.control.RunID, Run: c.control.Run, Settled: settled})
	if err != nil {
		return err
	}
	c.epoch = offsets[0]
	return c.look(ctx)
}

// look reads control and refuses to go on if a run or another change has taken over.
func (c *Change) look(ctx context.Context) error {
	if err := c.control.Update(ctx); err != nil {
		return err
	}
	var newest, headerAt int64
	var stop *schemas.Stop
	c.control.Look(func(v *controllog.View) {
		newest, headerAt, stop, c.Settled = v.Epoch, v.HeaderAt, v.Stop, v.Settled
		c.last = v.Closes[v.Settled]
	})
	switch {
	case newest != c.epoch || headerAt != c.control.HeaderAt:
		return c.Superseded()
	case stop != nil:
		return controllog.Stopped(stop)
	case c.Settled > 0 && c.last == nil:
		return fmt.Errorf("changing the deployment after turn %d: control does not hold its CLOSE: %w", c.Settled, deployment.ErrLogFault)
	}
	return nil
}

// Superseded returns the deployment.ErrSuperseded of a change that was overtaken by a run
// or another change.
func (c *Change) Superseded() error {
	return fmt.Errorf("changing the deployment: %w: drain the run that goes on, then change it again", deployment.ErrSuperseded)
}

// Generation returns the header of the generation that begins after the settled turn: want
// is the header of the new configuration, as generations.Header makes it.
func (c *Change) Generation(want *schemas.Header) schemas.Header {
	start := calendar.New(c.Old, c.dep.Config.Privacy.Period).End(c.Settled)
	return generations.Succeed(c.Old, want, c.Settled+1, start, c.last)
}

// Store winds up the old generation: it charges every shard for what was settled and
// writes its snapshot to the ledger that Next reads. Errors: deployment.ErrInterruptedTurn,
// deployment.ErrLogFault, *deployment.TopicError for a new ledger that is not empty,
// *spend.StopError, or what the broker said.
func (c *Change) Store(ctx context.Context) error {
	rules, err := generations.Rules(c.dep, c.Old)
	if err != nil {
		return err
	}
	from := ledgerlog.NewOn(c.client, c.control, c.dep, c.Old.Topics.Ledger)
	defer from.Close()
	turns := calendar.New(c.Old, c.dep.Config.Privacy.Period)
	engine, err := spend.NewEngine(spend.Options{Rules: rules, Ledger: from, Settlements: c.control, Ending: turns.Ending, Windows: turns})
	if err != nil {
		return err
	}
	snapshots := make([]schemas.Snapshot, c.Old.Shards)
	for n := range snapshots {
		if snapshots[n], err = engine.Checkpoint(ctx, n, c.epoch, c.Settled); err != nil {
			return c.interrupted(err)
		}
	}
	if err := c.unpublished(ctx); err != nil {
		return err
	}
	if c.Settled == 0 {
		return nil // no user has an account yet
	}
	to := from
	if c.Next.Topics.Ledger != c.Old.Topics.Ledger {
		to = ledgerlog.NewOn(c.client, c.control, c.dep, c.Next.Topics.Ledger)
		defer to.Close()
	}
	if c.Next.Shards != c.Old.Shards {
		if snapshots, err = spend.Reshard(snapshots, int(c.Next.Shards)); err != nil {
			return fmt.Errorf("changing the number of shards: %w", err)
		}
	}
	for n := range snapshots {
		if err := spend.Store(ctx, to, n, snapshots[n]); err != nil {
			return c.interrupted(err)
		}
	}
	return nil
}

// interrupted says what to do about a turn that is under way.
func (c *Change) interrupted(err error) error {
	if errors.Is(err, spend.ErrInterrupted) {
		return fmt.Errorf("changing the deployment after turn %d: the next turn was interrupted and may be published in part: run the old configuration and drain it, then change it: %w", c.Settled, deployment.ErrInterruptedTurn)
	}
	if errors.Is(err, spend.ErrForeignLedger) && c.Next.Topics.Ledger != c.Old.Topics.Ledger {
		return foreignLedger(c.Next.Topics.Ledger, err)
	}
	return fmt.Errorf("winding up generation %d: %w", c.Old.Generation, err)
}

// Write puts Next in force, if no run and no other change has taken over meanwhile
// (deployment.ErrSuperseded).
func (c *Change) Write(ctx context.Context) error {
	if err := c.look(ctx); err != nil {
		return err
	}
	counts := make([]int64, c.Next.ReleaseShards)
	for shard := range counts {
		bounds, err := c.client.Offsets(ctx, c.Next.Topics.Counts, int32(shard))
		if err != nil {
			return fmt.Errorf("looking at counts: %w", err)
		}
		counts[shard] = bounds.High
	}
	w, err := controllog.NewWriter(ctx, c.control)
	if err != nil {
		return err
	}
	defer w.Close()
	offsets, err := w.Append(ctx, &schemas.Generation{Epoch: c.epoch, CountsEnd: counts, Header: c.Next})
	if err != nil {
		return err
	}
	if err := c.control.Update(ctx); err != nil {
		return err
	}
	inForce := false
	c.control.Look(func(v *controllog.View) { inForce = v.HeaderAt == offsets[0] })
	if !inForce {
		return fmt.Errorf("changing the deployment: %w before the change was written: drain that run, then change it again", deployment.ErrSuperseded)
	}
	return nil
}

// unpublished refuses a change over anything that was published of a turn that is not
// settled: the ledger has lost the decisions that it rests on, and the next generation
// would publish something else, which no run compares with it.
func (c *Change) unpublished(ctx context.Context) error {
	old := *c.dep
	out := &old.Config.Outputs
	out.Ledger, out.Counts = c.Old.Topics.Ledger, c.Old.Topics.Counts
	old.Config.Shards, old.Config.ReleaseShards = int(c.Old.Shards), int(c.Old.ReleaseShards)
	if err := topicrules.Intact(ctx, &old, c.client, c.control); err != nil {
		return err
	}
	for shard := range old.Config.ReleaseShards {
		found, err := countslog.PublishedAfter(ctx, c.client, &old, c.control, shard, c.Settled)
		if err != nil {
			return err
		}
		if found {
			return fmt.Errorf("changing the deployment after turn %d: topic %s holds what a later turn has published, and the ledger does not have the decisions that it rests on: topic %s has lost records; restore it, or begin a new deployment: %w",
				c.Settled, out.Counts, out.Ledger, deployment.ErrLogFault)
		}
	}
	return nil
}
