package publishing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/fencing"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Releaser is RELEASE and PUBLISH: it adds up a release shard's partial counts,
// climbs the ladders and writes the counts. It implements transforms.Releaser.
type Releaser struct {
	dep     *deployment.Deployment
	turns   *calendar.Turns
	ladders transforms.Ladders
	lost    func(epoch int64) // told when a partition is in another writer's hands
	grid    grid
	fencing.Fence

	mu      sync.Mutex
	writers map[int]*countsWriter
}

// countsWriter is a taken partition of counts.
type countsWriter struct {
	mu       sync.Mutex
	epoch    int64
	producer *klog.Producer
	turn     uint64                      // the last one of the span that is written
	end      int64                       // the offset behind everything known
	found    map[string][]byte           // values behind the settled turn, found when the partition was taken
	written  map[string][]byte           // values of the span, written in this epoch
	wait     func(context.Context) error // for the appends of the span
}

// NewReleaser prepares RELEASE and PUBLISH. lost is told when a partition is in another writer's
// hands.
func NewReleaser(client *klog.Client, t *controllog.Log, d *deployment.Deployment, turns *calendar.Turns, lost func(epoch int64)) *Releaser {
	return &Releaser{
		dep: d, turns: turns, lost: lost, ladders: laddersOf(d, t.Header, turns), writers: map[int]*countsWriter{}, grid: grid(d.Config.Outputs.PublishEvery),
		Fence: fencing.Fence{Client: client, Control: t, Prefix: d.Config.Deployment + "/counts-", Topic: d.Config.Outputs.Counts},
	}
}

// Release implements transforms.Releaser. A group in which a shard is missing
// releases nothing.
func (r *Releaser) Release(ctx context.Context, shard int, blobs [][]byte) (spend.Pending, error) {
	partials, err := spend.NewestPartials(blobs)
	if err != nil {
		return nil, err
	}
	if !partials.Complete() {
		return nil, nil
	}
	head := &partials[0]
	if err := partials.Balanced(shard); err != nil {
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
	releases, settled, err := r.ladders.Climb(shard, partials)
	if err != nil {
		return nil, err
	}
	values := make([]value, len(releases))
	for i := range releases {
		if values[i], err = newValue(&releases[i]); err != nil {
			return nil, fmt.Errorf("releasing turn %d: %w", head.Turn, err)
		}
	}
	return r.publish(ctx, w, shard, head, values, settled, partials.Tallies())
}

func (r *Releaser) writer(shard int) *countsWriter {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.writers[shard]
	if w == nil {
		w = &countsWriter{epoch: -1}
		r.writers[shard] = w
	}
	return w
}

// value is one record for counts.
type value struct {
	key, data []byte
	windowEnd int64
}

func newValue(r *schemas.Release) (value, error) {
	data, err := schemas.EncodeRelease(*r)
	return value{key: schemas.EncodeReleaseKey(r.Metric, r.WindowStart, r.WindowEnd, []byte(r.Key)), data: data, windowEnd: r.WindowEnd}, err
}

// ladders are the deployment's.
func laddersOf(d *deployment.Deployment, h *schemas.Header, t *calendar.Turns) transforms.Ladders {
	l := transforms.Ladders{Metrics: deployment.Specs(d), Pairs: t.Pairs, Incarnation: h.Incarnation, Generation: h.Generation, Noise: d.Config.Keys.Noise[0]}
	for i := range d.Metrics {
		l.Plans, l.Digests = append(l.Plans, d.Metrics[i].Plan), append(l.Digests, d.Metrics[i].Digest)
	}
	return l
}

// prepare makes this process the partition's only writer and reads what an
// earlier epoch may have published of the open turn.
func (r *Releaser) prepare(ctx context.Context, shard int, w *countsWriter, head *schemas.Partial) error {
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

func (r *Releaser) takeCounts(ctx context.Context, shard int, w *countsWriter, head *schemas.Partial) error {
	if w.producer != nil {
		w.producer.Close()
		w.producer = nil
	}
	w.epoch = head.Epoch
	producer, fence, err := r.TakePartition(ctx, shard, head.Epoch)
	if err != nil {
		return err
	}
	w.producer, w.end, w.found, w.turn = producer, fence+1, map[string][]byte{}, 0
	settled := head.First - 1
	return countslog.ReadTo(ctx, r.Client, r.dep, r.Control, shard, settled, fence, func(rel schemas.Release, key, value []byte) error {
		if rel.Turn <= settled {
			return nil
		}
		if old, twice := w.found[string(key)]; twice && !bytes.Equal(old, value) {
			return &spend.StopError{Shard: shard, Turn: rel.Turn, Reason: "counts holds two values for one key and window", Err: deployment.ErrConflict}
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
