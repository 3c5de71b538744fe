package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// releaser is RELEASE and PUBLISH: it adds up a release shard's partial counts,
// climbs the ladders and writes the counts. It implements transforms.Releaser.
type releaser struct {
	dep  *Deployment
	lost func(epoch int64) // told when a partition is in another writer's hands
	fencing

	mu      sync.Mutex
	writers map[int]*countsWriter
}

// countsWriter is a taken partition of counts.
type countsWriter struct {
	mu       sync.Mutex
	epoch    int64
	producer *klog.Producer
	turn     uint64                      // of the values in published
	end      int64                       // the offset behind everything known
	found    map[string][]byte           // values behind the settled turn, found when the partition was taken
	written  map[string][]byte           // values of turn, written in this epoch
	wait     func(context.Context) error // for the appends of turn
}

func newReleaser(client *klog.Client, t *tail, d *Deployment) *releaser {
	return &releaser{
		dep: d, writers: map[int]*countsWriter{},
		fencing: fencing{client: client, tail: t, prefix: d.cfg.Deployment + "/counts-", topic: d.cfg.Outputs.Counts},
	}
}

// Release implements transforms.Releaser. A group in which a shard is missing
// releases nothing.
func (r *releaser) Release(ctx context.Context, shard int, blobs [][]byte) (spend.Pending, error) {
	partials, err := newestPartials(blobs)
	if err != nil {
		return nil, err
	}
	if len(partials) == 0 || !complete(partials) {
		return nil, nil
	}
	head := &partials[0]
	if err := balanced(shard, partials); err != nil {
		return nil, err
	}
	w := r.writer(shard)
	w.mu.Lock()
	defer w.mu.Unlock()
	if head.Epoch < w.epoch {
		return nil, nil
	}
	if err := r.prepare(ctx, shard, w, head); err != nil {
		if errors.Is(err, state.ErrSuperseded) {
			r.lost(head.Epoch)
			return nil, nil
		}
		return nil, err
	}
	values, settled, err := r.values(shard, head, partials)
	if err != nil {
		return nil, err
	}
	return r.publish(ctx, w, shard, head, values, settled, tallies(partials))
}

func (r *releaser) writer(shard int) *countsWriter {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.writers[shard]
	if w == nil {
		w = &countsWriter{epoch: -1}
		r.writers[shard] = w
	}
	return w
}

// newestPartials decodes the blobs of the largest epoch in a group, one per
// shard, in order of shards.
func newestPartials(blobs [][]byte) ([]schemas.Partial, error) {
	newest := int64(-1)
	for _, b := range blobs {
		_, epoch, _, err := schemas.PeekEpoch(b)
		if err != nil {
			return nil, fmt.Errorf("reading partial counts: %w", err)
		}
		newest = max(newest, epoch)
	}
	var partials []schemas.Partial
	for _, b := range blobs {
		if _, epoch, _, err := schemas.PeekEpoch(b); err != nil || epoch != newest {
			continue
		}
		p, err := schemas.DecodePartial(b)
		if err != nil {
			return nil, fmt.Errorf("reading partial counts: %w", err)
		}
		partials = append(partials, p)
	}
	slices.SortStableFunc(partials, func(a, b schemas.Partial) int { return cmp.Compare(a.Shard, b.Shard) })
	// The same turn again within one epoch gives the same blob again.
	return slices.CompactFunc(partials, func(a, b schemas.Partial) bool { return a.Shard == b.Shard && a.Turn == b.Turn }), nil
}

// complete says whether every shard is there, once, for one turn.
func complete(partials []schemas.Partial) bool {
	if len(partials) != int(partials[0].Shards) {
		return false
	}
	for i := range partials {
		if partials[i].Shard != uint32(i) || partials[i].Turn != partials[0].Turn {
			return false
		}
	}
	return true
}

// balanced refuses a turn of which a runner has lost records.
func balanced(shard int, partials []schemas.Partial) error {
	var sum uint64
	for i := range partials {
		sum += partials[i].Records
	}
	if sum != partials[0].Total {
		return &spend.StopError{Shard: shard, Turn: partials[0].Turn, Reason: "READ and SPEND counted different numbers of records: the engine has lost or repeated some"}
	}
	return nil
}

func tallies(partials []schemas.Partial) []schemas.MetricTally {
	var sum []schemas.MetricTally
	for i := range partials {
		for j, t := range partials[i].Tallies {
			if len(sum) <= j {
				sum = append(sum, schemas.MetricTally{Metric: t.Metric})
			}
			sum[j].Filtered += t.Filtered
			sum[j].Clipped += t.Clipped
			sum[j].OverBudget += t.OverBudget
			sum[j].Counted += t.Counted
		}
	}
	return sum
}

// prepare makes this process the partition's only writer and reads what an
// earlier epoch may have published of the open turn.
func (r *releaser) prepare(ctx context.Context, shard int, w *countsWriter, head *schemas.Partial) error {
	if w.epoch != head.Epoch || w.producer == nil {
		if err := r.takeCounts(ctx, shard, w, head); err != nil {
			return err
		}
	}
	if w.turn != head.Turn {
		w.turn, w.written, w.wait = head.Turn, map[string][]byte{}, nil
	}
	return nil
}

func (r *releaser) takeCounts(ctx context.Context, shard int, w *countsWriter, head *schemas.Partial) error {
	if w.producer != nil {
		w.producer.Close()
		w.producer = nil
	}
	w.epoch = head.Epoch
	producer, fence, err := r.take(ctx, shard, head.Epoch)
	if err != nil {
		return err
	}
	w.producer, w.end, w.found, w.turn = producer, fence+1, map[string][]byte{}, 0
	settled := head.Turn - 1
	return readReleasesTo(ctx, r.client, r.dep, r.tail, shard, settled, fence, func(rel schemas.Release, key, value []byte) error {
		if rel.Turn <= settled {
			return nil
		}
		if old, twice := w.found[string(key)]; twice && !bytes.Equal(old, value) {
			return &spend.StopError{Shard: shard, Turn: rel.Turn, Reason: "counts holds two values for one key and window", Err: ErrConflict}
		}
		w.found[string(key)] = value
		return nil
	})
}

// abandon forgets a partition whose write failed: what stands on it must be
// read again.
func (w *countsWriter) abandon(epoch int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.epoch == epoch && w.producer != nil {
		w.producer.Close()
		w.producer = nil
	}
}

// value is one record for counts.
type value struct {
	key, data []byte
	release   schemas.Release
}

// task is one ladder to climb.
type task struct {
	cell  schemas.Cell
	out   value
	keep  bool
	score schemas.SettledKey
}

// values climbs the ladder of every key: public keys also where nobody
// contributed; private ones pass their threshold or stay unseen.
func (r *releaser) values(shard int, head *schemas.Partial, partials []schemas.Partial) ([]value, []schemas.SettledKey, error) {
	tasks := r.tasks(shard, head, partials)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	const chunk = 64
	for from := 0; from < len(tasks); from += chunk {
		part := tasks[from:min(from+chunk, len(tasks))]
		group.Go(func() error {
			for i := range part {
				if err := r.climb(head.Turn, &part[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	var values []value
	var settled []schemas.SettledKey
	for i := range tasks {
		if tasks[i].keep {
			values = append(values, tasks[i].out)
			settled = append(settled, tasks[i].score)
		}
	}
	return values, settled, nil
}

// tasks lists every (metric, window, key) that the shard must look at, each
// once, in order.
func (r *releaser) tasks(shard int, head *schemas.Partial, partials []schemas.Partial) []task {
	type place struct {
		metric     uint32
		start, end int64
		key        string
	}
	counts := map[place]uint64{}
	for i := range partials {
		for _, c := range partials[i].Cells {
			counts[place{c.Metric, c.WindowStart, c.WindowEnd, string(c.Key)}] += c.Count
		}
	}
	for _, p := range r.pairs(head.Turn) {
		spec := &r.dep.metrics[p.Metric].Spec
		for _, key := range spec.PublicKeys {
			if schemas.ReleaseShardOf(spec.Name, p.WindowStart, p.WindowEnd, key, int(head.ReleaseShards)) == shard {
				counts[place{p.Metric, p.WindowStart, p.WindowEnd, string(key)}] += 0
			}
		}
	}
	tasks := make([]task, 0, len(counts))
	for at, n := range counts {
		tasks = append(tasks, task{cell: schemas.Cell{Metric: at.metric, WindowStart: at.start, WindowEnd: at.end, Key: []byte(at.key), Count: n}})
	}
	slices.SortFunc(tasks, func(a, b task) int {
		return cmp.Or(cmp.Compare(a.cell.WindowEnd, b.cell.WindowEnd), cmp.Compare(a.cell.WindowStart, b.cell.WindowStart),
			cmp.Compare(a.cell.Metric, b.cell.Metric), bytes.Compare(a.cell.Key, b.cell.Key))
	})
	return tasks
}

func (r *releaser) pairs(turn uint64) []schemas.Pair {
	return r.dep.turns(r.tail.header.StartMillis).pairs(turn)
}

// climb releases one count.
func (r *releaser) climb(turn uint64, t *task) error {
	c := &t.cell
	if int(c.Metric) >= len(r.dep.metrics) {
		return fmt.Errorf("releasing turn %d: a partial count names metric %d of %d", turn, c.Metric, len(r.dep.metrics))
	}
	m := &r.dep.metrics[c.Metric]
	noiseKey := r.dep.cfg.Keys.Noise[0]
	result, err := m.Plan.Release(noiseKey, noisereduction.Identity{
		Incarnation: r.tail.header.Incarnation, MetricDigest: m.Digest,
		WindowStart: c.WindowStart, WindowEnd: c.WindowEnd, Key: c.Key,
	}, c.Count)
	if err != nil {
		return fmt.Errorf("releasing turn %d: %w", turn, err)
	}
	if result.Precision.Cmp(m.Spec.Top) > 0 {
		return fmt.Errorf("releasing turn %d: a ladder went beyond its top; nothing of the turn is published", turn)
	}
	if !result.Passed {
		return nil
	}
	rel := schemas.Release{
		Turn: turn, Generation: r.tail.header.Generation, Metric: m.Spec.Name, MetricDigest: m.Digest,
		WindowStart: c.WindowStart, WindowEnd: c.WindowEnd, Key: string(c.Key),
		Value: result.Value, StdDev: result.StdDev, Low: result.Low, High: result.High,
		Precision: result.Precision, Confidence: m.Spec.Confidence, Met: result.Met,
		Rungs: uint32(result.Rungs), NoiseKeyID: noiseKey.ID,
	}
	data, err := schemas.EncodeRelease(rel)
	if err != nil {
		return fmt.Errorf("releasing turn %d: %w", turn, err)
	}
	t.keep = true
	t.out = value{key: schemas.EncodeReleaseKey(m.Spec.Name, c.WindowStart, c.WindowEnd, c.Key), data: data, release: rel}
	t.score = schemas.SettledKey{Metric: c.Metric, WindowStart: c.WindowStart, WindowEnd: c.WindowEnd, Key: c.Key, Precision: result.Precision}
	return nil
}
