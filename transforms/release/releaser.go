package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"sync"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Options are the dependencies of a Releaser.
type Options struct {
	Metrics []schemas.MetricSpec // see spend.NewRules
	// Plans are the ladders of the first metrics, from PlanOf. New compiles the ladders of the
	// other metrics, which takes some milliseconds each.
	Plans  []*noisereduction.Plan
	Ending func(turn uint64) []schemas.MetricWindow // see spend.Options
	// Bounds, if set, returns the start and end of a window as they are published.
	Bounds func(start, end int64) (from, to int64)
	// Incarnation and Generation identify the deployment in noise and releases.
	Incarnation [16]byte
	Generation  uint32
	Noise       noisereduction.NoiseKey
	Counts      schemas.CountsEncoding // must not change before a turn is redone
	Publisher   Publisher
	Lost        func(epoch int64) // see spend.Options; for the counts of a release shard
}

// New returns a Releaser.
func New(o Options) (*Releaser, error) {
	if o.Ending == nil || o.Publisher == nil {
		return nil, errors.New("creating a releaser: Ending and Publisher are required")
	}
	if err := o.Counts.Check(); err != nil {
		return nil, fmt.Errorf("creating a releaser: Counts: %w", err)
	}
	r := &Releaser{publisher: o.Publisher, encoding: o.Counts, lost: o.Lost, counts: map[int]*counts{},
		ladders: ladders{
			metrics: o.Metrics, windows: o.Ending, bounds: o.Bounds, incarnation: o.Incarnation,
			generation: o.Generation, noise: o.Noise,
		}}
	if r.ladders.bounds == nil {
		r.ladders.bounds = func(start, end int64) (int64, int64) { return start, end }
	}
	if r.lost == nil {
		r.lost = func(int64) {}
	}
	r.ladders.extra = extraOf(o.Metrics)
	for i := range o.Metrics {
		m := &o.Metrics[i]
		plan, err := o.planOf(i)
		if err != nil {
			return nil, fmt.Errorf("creating a releaser: metric %q: %w", m.Name, err)
		}
		r.ladders.plans, r.ladders.digests = append(r.ladders.plans, plan), append(r.ladders.digests, m.Digest())
		var widths []*big.Rat
		if len(r.ladders.extra[i]) > 0 {
			for ratios := range metrickind.MaxComponents - 1 {
				widths = append(widths, plan.Width(1+ratios))
			}
		}
		r.ladders.widths = append(r.ladders.widths, widths)
		tree, err := newTree(o.Metrics, i, plan)
		if err != nil {
			return nil, fmt.Errorf("creating a releaser: %w", err)
		}
		r.ladders.trees = append(r.ladders.trees, tree)
	}
	return r, nil
}

// planOf returns the ladder of metric i.
func (o *Options) planOf(i int) (*noisereduction.Plan, error) {
	m := &o.Metrics[i]
	if i >= len(o.Plans) {
		return PlanOf(m)
	}
	if p := o.Plans[i]; p.First() == m.First && p.Top() == m.Top {
		return p, nil
	}
	return nil, errors.New("Options.Plans contains the plan of another ladder")
}

// Releaser adds up the partial counts of a turn, releases every key along its ladder, and publishes
// the values that have not been published yet. Public keys are released in every window, even at
// zero. The Releaser releases nothing for a group that lacks an account shard, or whose epoch is
// older than the acquired epoch. If a turn is redone, it publishes the same bytes or nothing. It is
// safe for concurrent use.
//
// Release, and the Wait of the Pending that it returns, fail with a *spend.StopError if the numbers
// of records do not add up, or if the release shard has already published other values of the turn
// (ErrConflict). If a newer epoch has acquired the counts, nothing is acknowledged and Lost is
// called.
type Releaser struct {
	publisher Publisher
	encoding  schemas.CountsEncoding
	ladders   ladders
	lost      func(epoch int64)

	mu     sync.Mutex
	counts map[int]*counts // by release shard
}

// counts is the state of the published counts of one release shard.
type counts struct {
	mu      sync.Mutex
	epoch   int64
	writer  CountsWriter                               // nil: must be acquired
	turn    uint64                                     // the open turn
	earlier map[string][]byte                          // values that earlier epochs published after the settled turn
	written map[string][]byte                          // values of the open turn that this epoch has published
	wait    func(context.Context) (end int64, e error) // waits for the appends of the open turn
}

// Release implements transforms.Releaser.
func (r *Releaser) Release(ctx context.Context, shard int, blobs [][]byte) (spend.Pending, error) {
	partials, err := newestPartials(blobs)
	if err != nil || !partials.Complete() {
		return nil, err
	}
	head := &partials[0]
	if err := partials.Balanced(shard); err != nil {
		return nil, err
	}
	c := r.countsOf(shard)
	c.mu.Lock()
	defer c.mu.Unlock()
	if head.Epoch < c.epoch {
		return nil, nil
	}
	if err := r.prepare(ctx, shard, c, head); err != nil {
		if errors.Is(err, accounts.ErrSuperseded) {
			r.lost(head.Epoch)
			return nil, nil
		}
		return nil, err
	}
	releases, keys, err := r.ladders.releaseShard(shard, partials)
	if err != nil {
		return nil, err
	}
	records, err := recordsOf(head.Turn, r.encoding, releases)
	if err != nil {
		return nil, err
	}
	if err := c.publish(ctx, shard, head.Turn, records); err != nil {
		return nil, err
	}
	ack := schemas.Ack{Epoch: head.Epoch, Turn: head.Turn, ReleaseShard: uint32(shard),
		ReleaseShards: head.ReleaseShards, Tallies: partials.Tallies(), Keys: keys}
	return &pendingAck{counts: c, ack: ack, wait: c.wait, lost: r.lost}, nil
}

func (r *Releaser) countsOf(shard int) *counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts[shard]
	if c == nil {
		c = &counts{epoch: -1}
		r.counts[shard] = c
	}
	return c
}

// prepare makes this Releaser the only writer of the counts. It reads the values of the open turn
// that an earlier epoch has published, if there are any.
func (r *Releaser) prepare(ctx context.Context, shard int, c *counts, head *schemas.Partial) error {
	if c.epoch != head.Epoch || c.writer == nil {
		if err := r.acquire(ctx, shard, c, head); err != nil {
			return err
		}
	}
	if c.turn != head.Turn {
		c.turn, c.written, c.wait = head.Turn, nil, nil
	}
	return nil
}

func (r *Releaser) acquire(ctx context.Context, shard int, c *counts, head *schemas.Partial) error {
	if err := c.close(); err != nil {
		return fmt.Errorf("closing the counts of an earlier epoch: %w", err)
	}
	c.epoch, c.earlier, c.turn = head.Epoch, map[string][]byte{}, 0
	settled := head.Turn - 1
	writer, err := r.publisher.Acquire(ctx, shard, head.Epoch, settled, func(turn uint64, key, value []byte) error {
		if turn <= settled {
			return nil
		}
		if old, known := c.earlier[string(key)]; known && !bytes.Equal(old, value) {
			return &spend.StopError{Shard: shard, Turn: turn, Err: ErrConflict,
				Reason: "the counts topic contains two values for one key and window"}
		}
		c.earlier[string(key)] = value
		return nil
	})
	if err != nil {
		return err
	}
	c.writer = writer
	return nil
}

// publish writes the values that have not been published yet. It returns a *spend.StopError if a
// published value differs from its record, or has no record. No value is ever released with
// different noise.
func (c *counts) publish(ctx context.Context, shard int, turn uint64, records []Record) error {
	conflict := &spend.StopError{Shard: shard, Turn: turn,
		Reason: "a published value differs from the value that the log gives now", Err: ErrConflict}
	if c.written == nil {
		c.written = make(map[string][]byte, len(records))
	}
	missing := make([]Record, 0, len(records))
	matched := 0
	for _, r := range records {
		old, isEarlier := c.earlier[string(r.Key)]
		published := isEarlier
		if !isEarlier {
			old, published = c.written[string(r.Key)]
		}
		switch {
		case published && !bytes.Equal(old, r.Value):
			return conflict
		case isEarlier:
			matched++
		case !published:
			c.written[string(r.Key)] = r.Value
			missing = append(missing, r)
		}
	}
	if matched != len(c.earlier) {
		return conflict
	}
	// All values in c.earlier belong to this turn.
	maps.Copy(c.written, c.earlier)
	c.earlier = nil
	// If the engine repeats a bundle, nothing is missing. But the repeated bundle must wait, too:
	// the earlier attempt may have failed before it waited.
	if c.wait == nil || len(missing) > 0 {
		c.wait = c.writer.Append(ctx, turn, missing)
	}
	return nil
}

// abandon closes the writer after a failed write. The counts must then be acquired again.
func (c *counts) abandon(epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch == epoch {
		_ = c.close() // the failed write is already reported
	}
}

func (c *counts) close() error {
	writer := c.writer
	c.writer = nil
	return closeIfCloser(writer)
}

// Close closes the acquired writers, and then the Publisher.
func (r *Releaser) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, c := range r.counts {
		errs = append(errs, closeIfCloser(c.writer))
	}
	return errors.Join(append(errs, closeIfCloser(r.publisher))...)
}

func closeIfCloser(v any) error {
	if c, ok := v.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// pendingAck is a Pending that acknowledges a turn when its values are durable.
type pendingAck struct {
	counts *counts
	ack    schemas.Ack
	wait   func(context.Context) (int64, error)
	lost   func(epoch int64)
}

// Wait implements spend.Pending.
func (p *pendingAck) Wait(ctx context.Context) ([]spend.Blob, error) {
	var err error
	if p.ack.CountsEnd, err = p.wait(ctx); err != nil {
		p.counts.abandon(p.ack.Epoch)
		if errors.Is(err, accounts.ErrSuperseded) {
			p.lost(p.ack.Epoch)
			return nil, nil
		}
		return nil, fmt.Errorf("publishing turn %d: %w", p.ack.Turn, err)
	}
	data, err := schemas.EncodeAck(p.ack)
	if err != nil {
		return nil, fmt.Errorf("acknowledging turn %d: %w", p.ack.Turn, err)
	}
	return []spend.Blob{{Shard: 0, Data: data}}, nil
}
