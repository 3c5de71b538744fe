package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// ChangeOptions say how a deployment is changed.
type ChangeOptions struct {
	// DryRun says what would change and writes nothing; a run may go on meanwhile.
	DryRun bool
	// Logger is told of records on the deployment's topics that somebody else wrote;
	// default: discards.
	Logger *slog.Logger
	// Hooks are for tests of interruptions.
	Hooks Hooks
}

// ChangeResult says what a change has done, or would do.
type ChangeResult struct {
	Differences []Difference // none: the configuration is in force already
	Generation  uint32
	FromTurn    uint64
	From        time.Time // where the first slice of the generation begins
	// GivenUp are the metrics whose windows that were open are never released;
	// CarriedOn those whose windows go on.
	GivenUp, CarriedOn []string
	// RetiredKey is the id of a noise key that no turn needs any more, RetiredTopics
	// are topics that nobody reads any more.
	RetiredKey    string
	RetiredTopics []string
}

// Change puts the configuration of d in force from the turn behind the last
// settled one on, as a new generation on control. It takes over from a run as
// another run would; the deployment must have been drained, so that no turn is
// under way. Accounts and open windows go on; a metric whose public keys changed,
// or that is new, begins with windows behind the change.
//
// Whatever was settled is charged before the change is written, in a snapshot of
// every shard, so that nobody ever has to decide or draw anything of an earlier
// turn again: a noise key that was replaced may be destroyed then. A change that
// is interrupted has not happened, and can be made again.
//
// Errors: ErrHeaderMismatch where a difference can never be, ErrPromiseWeakened,
// ErrInterruptedTurn, ErrStopped, ErrNotInitialised, ErrTopicSettings, *spend.StopError, or what the
// broker said.
func Change(ctx context.Context, d *Deployment, o ChangeOptions) (ChangeResult, error) {
	client, err := Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return ChangeResult{}, err
	}
	defer client.Close()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	t, err := openTail(ctx, client, d, o.Logger)
	if err != nil {
		return ChangeResult{}, err
	}
	if err := promiseKept(d, ctx, t); err != nil {
		return ChangeResult{}, err
	}
	t.at = o.Hooks.At
	c := &change{dep: d, client: client, tail: t, old: t.header}
	want := headerOf(d)
	result := ChangeResult{Differences: differences(c.old, &want)}
	if len(result.Differences) == 0 {
		return result, nil
	}
	if first := result.Differences[0]; first.Never != "" {
		return result, fmt.Errorf("changing generation %d on topic %s: %s cannot be changed: %s: %w", c.old.Generation, d.Config.Outputs.Control, first.What, first.Never, ErrHeaderMismatch)
	}
	if !o.DryRun {
		if err := t.announce(ctx); err != nil {
			return result, err
		}
	}
	if err := CheckTopics(ctx, d, CheckOptions{}); err != nil {
		return result, err
	}
	if err := c.unused(ctx); err != nil {
		return result, err
	}
	if o.DryRun {
		var stop *schemas.Stop
		t.look(func(v *view) { c.settled, stop = v.settled, v.stop })
		if stop != nil {
			return result, stopped(stop)
		}
		c.next = c.generation(&want)
		return c.describe(result), nil
	}
	if err := c.begin(ctx); err != nil {
		return result, err
	}
	c.next = c.generation(&want)
	if err := c.store(ctx); err != nil {
		// What looks like lost records may be the work of a run that took over.
		if over, _, lookErr := t.past(ctx); lookErr == nil && over {
			return result, c.superseded()
		}
		return result, err
	}
	return c.describe(result), c.write(ctx)
}

// change is one change under way.
type change struct {
	dep     *Deployment // as it shall be
	client  *klog.Client
	tail    *tail
	old     *schemas.Header
	next    schemas.Header
	epoch   int64
	settled uint64
	last    *closing // the CLOSE of the settled turn
}

// unused refuses a new ledger or counts topic that holds anything but what an
// interrupted change has left there.
func (c *change) unused(ctx context.Context) error {
	out := &c.dep.Config.Outputs
	if out.Ledger != c.old.Topics.Ledger {
		if err := c.unusedLedger(ctx, out.Ledger); err != nil {
			return err
		}
	}
	if out.Counts == c.old.Topics.Counts {
		return nil
	}
	held, err := holdsRecords(ctx, c.client, out.Counts, nil)
	if err != nil {
		return err
	}
	if held {
		return &TopicError{Topic: out.Counts, Got: "holds records and the deployment has never written to it", Fix: "name a counts topic that is empty"}
	}
	return nil
}

// unusedLedger refuses a new ledger topic with decisions on it, or with snapshots of
// turns that are not settled here: whoever restored a shard from them would give
// people other people's accounts. Snapshots of settled turns may be an interrupted
// change's; those that are not are found when the shards are stored.
func (c *change) unusedLedger(ctx context.Context, topic string) error {
	var settled uint64
	c.tail.look(func(v *view) { settled = v.settled })
	ids, err := c.client.Partitions(ctx, topic)
	if err != nil {
		return fmt.Errorf("looking at the new ledger: %w", err)
	}
	for _, id := range ids {
		bounds, err := c.client.Offsets(ctx, topic, id)
		if err != nil {
			return fmt.Errorf("looking at the new ledger: %w", err)
		}
		err = c.client.ReadRange(ctx, topic, id, bounds.Start, bounds.High, func(r klog.Record) error {
			part, err := schemas.DecodeLedgerPart(r.Key, r.Value)
			if err == nil && (part.Key.Kind == schemas.KindFence || part.Key.Kind == schemas.KindSnapshotPart && part.Set.Turn <= settled) {
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
	return &TopicError{Topic: topic, Got: "holds records that this deployment has never written", Fix: "name a ledger topic that is empty", Err: err}
}

// begin takes an epoch, so that no run goes on, and finds out where the
// deployment stands.
func (c *change) begin(ctx context.Context) error {
	var stop *schemas.Stop
	var settled uint64
	c.tail.look(func(v *view) { stop, settled = v.stop, v.settled })
	if stop != nil {
		return stopped(stop)
	}
	w, err := newControlWriter(ctx, c.tail)
	if err != nil {
		return err
	}
	defer w.close()
	offsets, err := w.append(ctx, &schemas.Epoch{RunID: c.tail.runID, Run: c.tail.run, Settled: settled})
	if err != nil {
		return err
	}
	c.epoch = offsets[0]
	return c.look(ctx)
}

// look reads control and refuses to go on if somebody else has the epoch.
func (c *change) look(ctx context.Context) error {
	if err := c.tail.update(ctx); err != nil {
		return err
	}
	var newest, headerAt int64
	var stop *schemas.Stop
	c.tail.look(func(v *view) {
		newest, headerAt, stop, c.settled = v.epoch, v.headerAt, v.stop, v.settled
		c.last = v.closes[v.settled]
	})
	switch {
	case newest != c.epoch || headerAt != c.tail.headerAt:
		return c.superseded()
	case stop != nil:
		return stopped(stop)
	case c.settled > 0 && c.last == nil:
		return fmt.Errorf("changing the deployment behind turn %d: control does not hold its CLOSE: %w", c.settled, ErrLogFault)
	}
	return nil
}

func (c *change) superseded() error {
	return fmt.Errorf("changing the deployment: %w: drain the run that goes on, then change it again", errSuperseded)
}

// generation is the one that begins behind the settled turn.
func (c *change) generation(want *schemas.Header) schemas.Header {
	start := turnsFor(c.dep, c.old).end(c.settled)
	return succeed(c.old, want, c.settled+1, start, c.last)
}

// store winds the old generation up: every shard, charged, in a snapshot, on the
// ledger that the new generation reads.
func (c *change) store(ctx context.Context) error {
	rules, err := rulesOf(c.dep, c.old)
	if err != nil {
		return err
	}
	from := newLedgerStoreOn(c.client, c.tail, c.dep, c.old.Topics.Ledger)
	defer from.close()
	turns := turnsFor(c.dep, c.old)
	engine, err := spend.NewEngine(spend.Options{Rules: rules, Ledger: from, Settlements: c.tail, Pairs: turns.pairs, Windows: turns})
	if err != nil {
		return err
	}
	snapshots := make([]schemas.Snapshot, c.old.Shards)
	for n := range snapshots {
		if snapshots[n], err = engine.Checkpoint(ctx, n, c.epoch, c.settled); err != nil {
			return c.interrupted(err)
		}
	}
	if err := c.unpublished(ctx); err != nil {
		return err
	}
	if c.settled == 0 {
		return nil // nobody has an account
	}
	to := from
	if c.next.Topics.Ledger != c.old.Topics.Ledger {
		to = newLedgerStoreOn(c.client, c.tail, c.dep, c.next.Topics.Ledger)
		defer to.close()
	}
	if c.next.Shards != c.old.Shards {
		if snapshots, err = spend.Reshard(snapshots, int(c.next.Shards)); err != nil {
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
func (c *change) interrupted(err error) error {
	if errors.Is(err, spend.ErrInterrupted) {
		return fmt.Errorf("changing the deployment behind turn %d: the next turn was interrupted and may be published in part: run the old configuration and drain it, then change it: %w", c.settled, ErrInterruptedTurn)
	}
	if errors.Is(err, spend.ErrForeignLedger) && c.next.Topics.Ledger != c.old.Topics.Ledger {
		return foreignLedger(c.next.Topics.Ledger, err)
	}
	return fmt.Errorf("winding up generation %d: %w", c.old.Generation, err)
}

// write puts the generation in force, if nobody has taken over meanwhile.
func (c *change) write(ctx context.Context) error {
	if err := c.look(ctx); err != nil {
		return err
	}
	counts := make([]int64, c.next.ReleaseShards)
	for shard := range counts {
		bounds, err := c.client.Offsets(ctx, c.next.Topics.Counts, int32(shard))
		if err != nil {
			return fmt.Errorf("looking at counts: %w", err)
		}
		counts[shard] = bounds.High
	}
	w, err := newControlWriter(ctx, c.tail)
	if err != nil {
		return err
	}
	defer w.close()
	offsets, err := w.append(ctx, &schemas.Generation{Epoch: c.epoch, CountsEnd: counts, Header: c.next})
	if err != nil {
		return err
	}
	if err := c.tail.update(ctx); err != nil {
		return err
	}
	inForce := false
	c.tail.look(func(v *view) { inForce = v.headerAt == offsets[0] })
	if !inForce {
		return fmt.Errorf("changing the deployment: %w before the change was written: drain that run, then change it again", errSuperseded)
	}
	return nil
}

// describe says what the generation means.
func (c *change) describe(r ChangeResult) ChangeResult {
	r.Generation, r.FromTurn, r.From = c.next.Generation, c.next.FromTurn, time.UnixMilli(c.next.SliceStart).UTC()
	for i := range c.old.Metrics {
		name := c.old.Metrics[i].Name
		if c.old.Metrics[i].Kind == schemas.KindCoverage {
			continue
		}
		if at := metricNamed(&c.next, name); at >= 0 && c.next.MetricStarts[at] == c.old.MetricStarts[i] {
			r.CarriedOn = append(r.CarriedOn, name)
		} else {
			r.GivenUp = append(r.GivenUp, name)
		}
	}
	if old := newestKey(c.old); old.ID != newestKey(&c.next).ID {
		r.RetiredKey = old.ID
	}
	if c.old.Topics.Ledger != c.next.Topics.Ledger {
		r.RetiredTopics = append(r.RetiredTopics, c.old.Topics.Ledger)
	}
	if c.old.Topics.Counts != c.next.Topics.Counts {
		r.RetiredTopics = append(r.RetiredTopics, c.old.Topics.Counts)
	}
	return r
}

// unpublished refuses a change over anything that was published of a turn that is not
// settled: the ledger has lost the decisions behind it, and the next generation would
// publish something else that nobody compares with that.
func (c *change) unpublished(ctx context.Context) error {
	old := *c.dep
	out := &old.Config.Outputs
	out.Ledger, out.Counts = c.old.Topics.Ledger, c.old.Topics.Counts
	old.Config.Shards, old.Config.ReleaseShards = int(c.old.Shards), int(c.old.ReleaseShards)
	if err := intact(&old, ctx, c.client, c.tail); err != nil {
		return err
	}
	for shard := range old.Config.ReleaseShards {
		found, err := publishedAfter(ctx, c.client, &old, c.tail, shard, c.settled)
		if err != nil {
			return err
		}
		if found {
			return fmt.Errorf("changing the deployment behind turn %d: topic %s holds what a later turn has published, and the ledger does not have the decisions behind it: topic %s has lost records; restore it, or begin a new deployment: %w",
				c.settled, out.Counts, out.Ledger, ErrLogFault)
		}
	}
	return nil
}
