package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/ledgerlog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Change makes one change of a deployment. Its steps are ReadState; a rehearsal without writing of
// MakeNext, CheckSize, WindUp, CheckUnused and WriteSnapshots; CheckUnmoved; TakeEpoch; MakeNext,
// WindUp and WriteSnapshots again; and WriteGeneration. Not safe for concurrent use.
type Change struct {
	Now      bool                   // give up open windows
	dep      *deployment.Deployment // with the new configuration
	client   *kafkalog.Client
	control  *controllog.Log
	Old      *schemas.Header     // header of the generation in force
	Next     schemas.Header      // header of the next generation, set by MakeNext
	epoch    int64               // offset of the EPOCH that TakeEpoch wrote; −1 before
	settled  uint64              // the last settled turn, set by ReadState
	last     *controllog.Closing // the CLOSE of turn settled
	standing controllog.Standing // set by ReadState
}

// NewChange returns a Change from the generation that was in force when control was opened to the
// configuration of d.
func NewChange(d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log) *Change {
	return &Change{dep: d, client: client, control: control, Old: control.Header, epoch: -1}
}

// ReadState copies the deployment's state, as far as control has been read. Errors:
// deployment.ErrStopped.
func (c *Change) ReadState() error {
	var stop *schemas.Stop
	c.control.WithView(func(v *controllog.View) {
		stop, c.standing, c.settled, c.last = v.Stop, v.Standing, v.Settled, v.Closes[v.Settled]
	})
	if stop != nil {
		return controllog.Stopped(stop)
	}
	return nil
}

// CheckUnmoved reads control and returns deployment.ErrSuperseded if a run has changed the state
// since ReadState. Such a run is active, or started after the change did.
func (c *Change) CheckUnmoved(ctx context.Context) error {
	if err := c.control.Update(ctx); err != nil {
		return err
	}
	var now controllog.Standing
	c.control.WithView(func(v *controllog.View) { now = v.Standing })
	if now != c.standing {
		return c.superseded()
	}
	return nil
}

// CheckUnused returns an error if a new ledger or counts topic contains records that no interrupted
// change can have written.
func (c *Change) CheckUnused(ctx context.Context) error {
	out := &c.dep.Config.Outputs
	if out.Ledger != c.Old.Topics.Ledger {
		if err := c.checkUnusedLedger(ctx, out.Ledger); err != nil {
			return err
		}
	}
	if out.Counts == c.Old.Topics.Counts {
		return nil
	}
	hasRecords, err := topicrules.HoldsRecords(ctx, c.client, out.Counts, nil)
	if err != nil {
		return err
	}
	if hasRecords {
		return &deployment.TopicError{Topic: out.Counts,
			Got: "contains records, but the deployment has not written to it", Fix: "use an empty counts topic"}
	}
	return nil
}

// checkUnusedLedger returns an error if a new ledger topic contains decisions, or snapshots of
// turns that are not settled. A shard restored from them would give users the accounts of others.
// Snapshots of settled turns may be from an interrupted change; WriteSnapshots detects others.
func (c *Change) checkUnusedLedger(ctx context.Context, topic string) error {
	ids, err := c.client.Partitions(ctx, topic)
	if err != nil {
		return fmt.Errorf("reading the new ledger: %w", err)
	}
	for _, id := range ids {
		bounds, err := c.client.Offsets(ctx, topic, id)
		if err != nil {
			return fmt.Errorf("reading the new ledger: %w", err)
		}
		seal := schemas.NewLedgerSeal(c.dep.Config.Keys.UserHash.Reveal(), int(id))
		err = c.client.ReadRange(ctx, topic, id, bounds.Start, bounds.High, func(r kafkalog.Record) error {
			value, err := seal.Open(r.Key, r.Value)
			if err != nil {
				return foreignLedger(topic, err)
			}
			part, err := schemas.DecodeLedgerPart(r.Key, value)
			if err == nil && part.Key.Kind == schemas.KindSnapshotPart && part.Set.Turn <= c.settled {
				return nil
			}
			return foreignLedger(topic, err)
		})
		if err != nil {
			return fmt.Errorf("reading partition %d of the new ledger: %w", id, err)
		}
	}
	return nil
}

func foreignLedger(topic string, err error) error {
	return &deployment.TopicError{Topic: topic, Got: "contains records that this deployment has not written",
		Fix: "use an empty ledger topic", Err: err}
}

// TakeEpoch announces the change and starts an epoch, so that no run continues. It then reads the
// state of the deployment at that point. Errors: deployment.ErrStopped, deployment.ErrSuperseded,
// deployment.ErrLogFault, or the broker's error.
func (c *Change) TakeEpoch(ctx context.Context) error {
	if err := c.control.Announce(ctx); err != nil {
		return err
	}
	w, err := controllog.NewWriter(ctx, c.control)
	if err != nil {
		return err
	}
	defer w.Close()
	offsets, err := w.Append(ctx, c.control.NewEpoch(c.settled))
	if err != nil {
		return err
	}
	c.epoch = offsets[0]
	return c.checkOwnEpoch(ctx)
}

// checkOwnEpoch reads control and fails if a run or another change has started a newer epoch.
func (c *Change) checkOwnEpoch(ctx context.Context) error {
	if err := c.control.Update(ctx); err != nil {
		return err
	}
	stopErr := c.ReadState()
	var headerAt int64
	c.control.WithView(func(v *controllog.View) { headerAt = v.HeaderAt })
	if c.standing.Epoch != c.epoch || headerAt != c.control.HeaderAt {
		return c.superseded()
	}
	return stopErr
}

// superseded returns deployment.ErrSuperseded, for a run or change that began after this one.
func (c *Change) superseded() error {
	return fmt.Errorf("changing the deployment: %w, or another change has: drain the run if there is one, then "+
		"repeat the change", deployment.ErrSuperseded)
}

// OpenWindows returns the metrics that have open windows after the settled turn, and the next time
// at which all windows have ended; zero if there is none.
func (c *Change) OpenWindows() (metrics []string, allEnd time.Time) {
	turns := c.turns()
	for i := range c.Old.Metrics {
		if turns.Open(uint32(i), c.settled) && !metrickind.Of(c.Old.Metrics[i].Kind).Derived() {
			metrics = append(metrics, c.Old.Metrics[i].Name)
		}
	}
	if end := turns.AllEnd(c.settled); end != calendar.Forever {
		allEnd = time.UnixMilli(end).UTC()
	}
	return metrics, allEnd
}

func (c *Change) turns() *calendar.Turns { return calendar.New(c.Old, c.dep.Config.Privacy.Period) }

// checkWindows returns deployment.ErrOpenWindows if windows are open that the change does not give
// up.
func (c *Change) checkWindows() error {
	metrics, allEnd := c.OpenWindows()
	if len(metrics) == 0 || c.Now {
		return nil
	}
	remedy := "some of them always are, because they overlap or their ends never coincide: give them up with --now"
	if !allEnd.IsZero() {
		remedy = fmt.Sprintf("all end at %[1]s: run the configuration in force with --until %[1]s and repeat the "+
			"change, or give them up with --now", allEnd.Format(time.RFC3339))
	}
	return fmt.Errorf("changing the deployment after turn %d: %w (metrics %s); %s", c.settled,
		deployment.ErrOpenWindows, strings.Join(metrics, ", "), remedy)
}

// CheckUserHash returns an error if Next has another user-hash key and the key may not change now:
// deployment.ErrHeaderMismatch if a user was forgotten, or deployment.ErrOpenPeriod within a budget
// period, for which users would get a second account.
func (c *Change) CheckUserHash(ctx context.Context) error {
	if !c.newAccounts() {
		return nil
	}
	if err := c.checkNobodyForgotten(ctx); err != nil {
		return err
	}
	turns := c.turns()
	if turns.PeriodEnds(c.settled) {
		return nil
	}
	remedy := "no period ends together with a turn within a hundred years"
	if end := turns.NextPeriod(c.settled); end != calendar.Forever {
		remedy = fmt.Sprintf("run the configuration in force with --until %s, where one ends, and repeat the change",
			time.UnixMilli(end).UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("changing the user-hash key after turn %d: %w, and users would get a second budget in it; %s",
		c.settled, deployment.ErrOpenPeriod, remedy)
}

// newAccounts reports whether Next has other accounts than Old.
func (c *Change) newAccounts() bool { return c.Next.UserHash != c.Old.UserHash }

// MakeNext sets Next, the header of the generation that begins after the settled turn. want is the
// changes.Header of the new configuration.
func (c *Change) MakeNext(want *schemas.Header) {
	c.Next = changes.Succeed(c.Old, want, c.settled+1, c.turns().End(c.settled), c.last)
}

// CheckSize returns kafkalog.ErrTooLarge if Next does not fit into a record of control.
func (c *Change) CheckSize() error {
	next := c.Next
	if next.Counts.Format == schemas.CountsAvro {
		next.Counts.SchemaID = max(next.Counts.SchemaID, 1) // 0: not registered yet
	}
	value, err := schemas.EncodeControl(
		schemas.Control{Body: &schemas.Generation{CountsEnd: make([]int64, next.ReleaseShards), Header: next}})
	if err != nil {
		return fmt.Errorf("encoding the new generation: %w", err)
	}
	const room = kafkalog.DefaultBatchBytes - 1<<10 // 1 KiB is left for framing and back references
	if len(value) > room {
		return fmt.Errorf("changing the deployment: the configuration needs a record of %d bytes, and topic %s takes "+
			"%d: give metrics fewer public keys: %w", len(value), c.control.Topic, room, kafkalog.ErrTooLarge)
	}
	return nil
}

// ledger opens a ledger topic. Before TakeEpoch it opens the topic only for reading, so that no run
// is disturbed. The returned function closes it.
func (c *Change) ledger(topic string) (accounts.LedgerStore, func()) {
	if c.epoch < 0 {
		return ledgerlog.ReadOn(c.client, c.control, c.dep, topic), func() {}
	}
	store := ledgerlog.NewOn(c.client, c.control, c.dep, topic)
	return store, store.Close
}

// WindUp charges every shard of the old generation for the settled turns, and returns the snapshots
// of the shards, which are empty if the user-hash key changes. It returns an error while a later
// turn is under way or published, or windows are open. Errors: deployment.ErrOpenPeriod,
// deployment.ErrOpenWindows, deployment.ErrInterruptedTurn, deployment.ErrSuperseded,
// deployment.ErrLogFault, *spend.StopError, or the broker's error.
func (c *Change) WindUp(ctx context.Context) ([]schemas.Snapshot, error) {
	snapshots, err := c.checkpoints(ctx)
	if err == nil {
		err = c.checkUnpublished(ctx)
	}
	if err == nil {
		err = c.checkWindows()
	}
	return snapshots, c.supersededOr(ctx, err)
}

// supersededOr returns err, or deployment.ErrSuperseded if a run has changed the state meanwhile:
// what such a run has written looks like lost records.
func (c *Change) supersededOr(ctx context.Context, err error) error {
	if err == nil || c.epoch < 0 && errors.Is(err, deployment.ErrInterruptedTurn) {
		return err
	}
	if stateErr := c.CheckUnmoved(ctx); errors.Is(stateErr, deployment.ErrSuperseded) {
		return stateErr
	}
	return err
}

func (c *Change) checkpoints(ctx context.Context) ([]schemas.Snapshot, error) {
	if c.settled > 0 && c.last == nil {
		return nil, fmt.Errorf("changing the deployment after turn %d: its CLOSE is missing from control: %w",
			c.settled, deployment.ErrLogFault)
	}
	snapshots := make([]schemas.Snapshot, c.Old.Shards)
	if c.newAccounts() {
		return snapshots, c.emptySnapshots(ctx, snapshots)
	}
	engine, closeLedger, err := c.oldEngine()
	if err != nil {
		return nil, err
	}
	defer closeLedger()
	for n := range snapshots {
		if snapshots[n], err = engine.Checkpoint(ctx, n, c.epoch, c.settled); err != nil {
			return nil, c.interrupted(err)
		}
	}
	return snapshots, nil
}

// emptySnapshots fills snapshots with empty ones, because no later window can charge the budget
// periods of the old accounts. The ledger of the old generation cannot be read without the old key.
// So control must show that no turn is under way: no shard decides a turn before its CLOSE.
func (c *Change) emptySnapshots(ctx context.Context, snapshots []schemas.Snapshot) error {
	if err := c.CheckUserHash(ctx); err != nil {
		return err
	}
	if c.standing.Closed > c.settled {
		return fmt.Errorf("changing the user-hash key after turn %d: turn %d is closed, and may already be partly "+
			"published: run the configuration in force to the end of a period with --until, and repeat the change: %w",
			c.settled, c.standing.Closed, deployment.ErrInterruptedTurn)
	}
	old := ledgerlog.NewOn(c.client, c.control, c.dep, c.Old.Topics.Ledger)
	for n := range snapshots {
		if c.epoch >= 0 { // fence every older run
			p, _, err := old.AcquirePartition(ctx, n, c.epoch)
			if err != nil {
				return c.interrupted(err)
			}
			p.Close()
		}
		snapshots[n] = schemas.Snapshot{Turn: c.settled, Epoch: c.epoch}
	}
	return nil
}

// checkNobodyForgotten returns an error if a user was forgotten. The mark on the ledger is valid
// only under the old user-hash key, so under another key the user would count again.
func (c *Change) checkNobodyForgotten(ctx context.Context) error {
	bounds, err := c.client.Offsets(ctx, c.control.Topic, 0)
	if err == nil {
		err = c.client.ReadRange(ctx, c.control.Topic, 0, bounds.Start, bounds.High, func(r kafkalog.Record) error {
			if control, err := schemas.DecodeControl(r.Value); err == nil {
				if f, ok := control.Body.(*schemas.Forget); ok {
					return fmt.Errorf("a user was forgotten after turn %d, and would count again under another key: "+
						"keep the key: %w", f.Turn, deployment.ErrHeaderMismatch)
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("changing the user-hash key: %w", err)
	}
	return nil
}

// oldEngine returns the engine of the generation in force, and a function that closes its ledger.
func (c *Change) oldEngine() (*spend.Engine, func(), error) {
	rules, err := changes.Rules(c.dep, c.Old)
	if err != nil {
		return nil, nil, err
	}
	if c.settled+1 == c.Old.FromTurn { // no turn of the generation is settled: Old.Before applies
		rules.Before = nil
	}
	from, closeLedger := c.ledger(c.Old.Topics.Ledger)
	turns := c.turns()
	engine, err := spend.NewEngine(spend.Options{Rules: rules, Ledger: from, Settlements: c.control,
		Ending: turns.Ending, Windows: turns})
	return engine, closeLedger, err
}

// WriteSnapshots writes the snapshots from WindUp to the ledger of Next. Before TakeEpoch it only
// checks that this is possible. Errors: deployment.ErrInterruptedTurn, *deployment.TopicError for a
// new ledger that is not empty, or the broker's error.
func (c *Change) WriteSnapshots(ctx context.Context, snapshots []schemas.Snapshot) (err error) {
	hasMarks := func(s schemas.Snapshot) bool { return len(s.Forgotten) > 0 }
	if c.settled == 0 && !slices.ContainsFunc(snapshots, hasMarks) {
		return nil // no user has an account or was forgotten
	}
	to, closeLedger := c.ledger(c.Next.Topics.Ledger)
	defer closeLedger()
	if c.Next.Shards != c.Old.Shards {
		if snapshots, err = spend.Reshard(snapshots, int(c.Next.Shards)); err != nil {
			return fmt.Errorf("changing the number of shards: %w", err)
		}
	}
	for n := range snapshots {
		if err := spend.Store(ctx, to, n, snapshots[n]); err != nil {
			return c.supersededOr(ctx, c.interrupted(err))
		}
	}
	return nil
}

// interrupted wraps an error of WindUp or WriteSnapshots. If a turn is under way or the ledger is
// foreign, it adds the remedy.
func (c *Change) interrupted(err error) error {
	if errors.Is(err, spend.ErrInterrupted) {
		return fmt.Errorf("changing the deployment after turn %d: the next turn was interrupted and may already "+
			"be partly published: start a run with the old configuration, drain it, then repeat the change: %w",
			c.settled, deployment.ErrInterruptedTurn)
	}
	if errors.Is(err, spend.ErrForeignLedger) && c.Next.Topics.Ledger != c.Old.Topics.Ledger {
		return foreignLedger(c.Next.Topics.Ledger, err)
	}
	return fmt.Errorf("ending generation %d: %w", c.Old.Generation, err)
}

// WriteGeneration puts Next in force. It returns deployment.ErrSuperseded if a run or another
// change has taken the epoch meanwhile.
func (c *Change) WriteGeneration(ctx context.Context) error {
	if err := c.checkOwnEpoch(ctx); err != nil {
		return err
	}
	counts := make([]int64, c.Next.ReleaseShards)
	for shard := range counts {
		bounds, err := c.client.Offsets(ctx, c.Next.Topics.Counts, int32(shard))
		if err != nil {
			return fmt.Errorf("reading counts: %w", err)
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
	c.control.WithView(func(v *controllog.View) { inForce = v.HeaderAt == offsets[0] })
	if !inForce {
		return fmt.Errorf("changing the deployment: %w before the change was written: drain that run, then "+
			"repeat the change", deployment.ErrSuperseded)
	}
	return nil
}

// checkUnpublished returns an error if values of an unsettled turn are published. Then the ledger
// has lost the decisions about these values, and no run would compare the values of the next
// generation with them.
func (c *Change) checkUnpublished(ctx context.Context) error {
	old := changes.InForce(c.dep, c.Old)
	if err := countslog.CheckIntact(ctx, old, c.client, c.control); err != nil {
		return err
	}
	published, err := countslog.PublishedAfter(ctx, c.client, old, c.control, c.settled)
	if err != nil {
		return err
	}
	if published {
		return fmt.Errorf("changing the deployment after turn %d: topic %s has values of a later turn, but topic %s "+
			"does not have the decisions about them. Restore that topic if it lost records; if another program wrote "+
			"to counts, begin a new deployment with new keys: %w", c.settled, old.Config.Outputs.Counts,
			old.Config.Outputs.Ledger, deployment.ErrLogFault)
	}
	return nil
}
