package transforms

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Publisher takes released counts. It is called once for a turn (or for all
// turns of a joint, with the last one's number) and release shard, and again with the same values where an engine repeats a bundle: write
// what is not there yet, and stop if what is there differs. Publish may return
// at once; wait returns when the values are durable. Safe for concurrent use.
// If it is an io.Closer, its Releaser closes it.
type Publisher interface {
	Publish(ctx context.Context, turn uint64, releaseShard int, values []schemas.Release) (wait func(context.Context) error, err error)
}

// ReleaserOptions are what a Releaser needs.
type ReleaserOptions struct {
	// Metrics as in spend.NewRules.
	Metrics []schemas.MetricSpec
	// Pairs as in spend.Options.
	Pairs func(turn uint64) []schemas.Pair
	// Incarnation and Generation name the deployment in noise and releases.
	Incarnation [16]byte
	Generation  uint32
	Noise       noisereduction.NoiseKey
	Publisher   Publisher
}

// NewReleaser makes a Releaser that adds up the partial counts of a turn,
// climbs the ladder of every key, and hands the values to a Publisher. Public
// keys are released in every window, at zero, too. A group in which a shard is
// missing releases nothing; one whose record counts do not add up stops the
// turn.
func NewReleaser(o ReleaserOptions) (Releaser, error) {
	if o.Pairs == nil || o.Publisher == nil {
		return nil, errors.New("making a releaser: pairs and a publisher are needed")
	}
	r := &releaser{publisher: o.Publisher, ladders: Ladders{
		Metrics: o.Metrics, Pairs: o.Pairs, Incarnation: o.Incarnation, Generation: o.Generation, Noise: o.Noise,
	}}
	for i := range o.Metrics {
		m := &o.Metrics[i]
		plan, err := PlanOf(m)
		if err != nil {
			return nil, fmt.Errorf("making a releaser: metric %q: %w", m.Name, err)
		}
		r.ladders.Plans, r.ladders.Digests = append(r.ladders.Plans, plan), append(r.ladders.Digests, m.Digest())
	}
	return r, nil
}

type releaser struct {
	publisher Publisher
	ladders   Ladders
}

// Close closes the Publisher.
func (r *releaser) Close() error {
	if c, ok := r.publisher.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Release implements Releaser.
func (r *releaser) Release(ctx context.Context, shard int, blobs [][]byte) (spend.Pending, error) {
	partials, err := spend.NewestPartials(blobs)
	if err != nil || !partials.Complete() {
		return nil, err
	}
	head := &partials[0]
	if err := partials.Balanced(shard); err != nil {
		return nil, err
	}
	releases, keys, err := r.ladders.Climb(shard, partials)
	if err != nil {
		return nil, err
	}
	wait, err := r.publisher.Publish(ctx, head.Turn, shard, releases)
	if err != nil {
		return nil, fmt.Errorf("publishing turn %d: %w", head.Turn, err)
	}
	ack := schemas.Ack{Epoch: head.Epoch, First: head.First, Turn: head.Turn, ReleaseShard: uint32(shard), ReleaseShards: head.ReleaseShards, Tallies: partials.Tallies(), Keys: keys}
	return &publishing{ack, wait}, nil
}

// publishing acknowledges a turn once its values are durable.
type publishing struct {
	ack  schemas.Ack
	wait func(context.Context) error
}

// Wait implements spend.Pending.
func (p *publishing) Wait(ctx context.Context) ([]spend.Blob, error) {
	if p.wait != nil {
		if err := p.wait(ctx); err != nil {
			return nil, fmt.Errorf("publishing turn %d: %w", p.ack.Turn, err)
		}
	}
	data, err := schemas.EncodeAck(p.ack)
	if err != nil {
		return nil, fmt.Errorf("acknowledging turn %d: %w", p.ack.Turn, err)
	}
	return []spend.Blob{{Shard: 0, Data: data}}, nil
}
