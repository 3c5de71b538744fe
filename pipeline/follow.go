package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Published is what counts holds of a turn, or of the turns of a span.
type Published struct {
	Turn uint64 // the turn, or the last one of the span
	// Releases holds each value once, in the order of the windows' ends, metrics, the
	// windows' starts and keys; empty where nothing was released.
	Releases []schemas.Release
}

// FollowReleases calls fn with what counts holds of each turn, in order, as soon as
// every partition has ended the turn, and then with every new one, until ctx ends
// (which is no error) or fn returns an error, which it returns. from holds one
// offset for each partition of counts, as RunOptions.OnStart is given them; nil
// begins where the last settled turn ends now. What is gone from the topic is left
// out.
//
// A turn that has ended on counts is not always settled: RunOptions.OnSettled tells
// that. The topic is the queue: fn may take as long as it wants, and no more than a
// fetch of each partition is kept meanwhile. Foreign records are left out. While the
// cluster does not answer, or a partition has no leader, FollowReleases waits as long
// as ctx lasts: the run that writes there decides how long that may go on.
func FollowReleases(ctx context.Context, d *deployment.Deployment, from []int64, fn func(Published) error) error {
	err := followReleases(ctx, d, from, fn)
	if err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// followPatience is how long a call is tried again: for ever, because reading what a
// run has published does not decide when the run ends.
const followPatience = time.Duration(math.MaxInt64)

func followReleases(ctx context.Context, d *deployment.Deployment, from []int64, fn func(Published) error) error {
	if err := AwaitBroker(ctx, d, followPatience, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	cfg, err := connect.Config(&d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	cfg.RetryFor = followPatience
	client, err := kafkalog.Dial(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connecting to Kafka: %w", err)
	}
	defer client.Close()
	if from == nil {
		control, err := controllog.Open(ctx, client, d.Config.Outputs.Control, d.Config.LedgerSlots, slog.New(slog.DiscardHandler))
		if err != nil {
			return fmt.Errorf("following counts: %w", err)
		}
		from = control.CountsFrom(d.Config.ReleaseShards)
	}
	f := follower{client: client, topic: d.Config.Outputs.Counts, fn: fn, values: map[uint64]map[string]schemas.Release{}}
	for shard := range d.Config.ReleaseShards {
		p := following{}
		if shard < len(from) {
			p.next = from[shard]
		}
		f.partitions = append(f.partitions, p)
	}
	fetcher := client.NewFetcher()
	defer fetcher.Close()
	for {
		fetched, err := fetcher.Poll(ctx, f.wants(), 1, reading.PollWait)
		if err != nil {
			return fmt.Errorf("following counts: %w", err)
		}
		for i := range fetched {
			if err := f.take(ctx, &fetched[i]); err != nil {
				return err
			}
		}
		if err := f.advance(); err != nil {
			return err
		}
	}
}

// follower puts turns together from the partitions of counts.
type follower struct {
	client     *kafkalog.Client
	topic      string
	fn         func(Published) error
	partitions []following
	ends       []uint64                              // turns that some partition has ended, ascending, not handed out yet
	values     map[uint64]map[string]schemas.Release // by turn and key of the record: a value may stand on counts twice
	done       uint64                                // the last turn that was handed out
}

// following is how far a partition was read.
type following struct {
	next  int64
	ended uint64 // the last turn that it has ended
}

// wants returns the partitions that the next turn waits for: one that is ahead is not
// read, so that its values do not pile up here.
func (f *follower) wants() []kafkalog.Fetch {
	least := f.least()
	var wants []kafkalog.Fetch
	for i, p := range f.partitions {
		if p.ended == least {
			wants = append(wants, kafkalog.Fetch{Topic: f.topic, Partition: int32(i), Offset: p.next})
		}
	}
	return wants
}

func (f *follower) least() uint64 {
	least := f.partitions[0].ended
	for _, p := range f.partitions {
		least = min(least, p.ended)
	}
	return least
}

func (f *follower) take(ctx context.Context, g *kafkalog.Fetched) error {
	p := &f.partitions[g.Partition]
	if errors.Is(g.Err, kafkalog.ErrOffsetOutOfRange) {
		bounds, err := f.client.Offsets(ctx, f.topic, g.Partition)
		if err == nil && p.next < bounds.Start {
			p.next = bounds.Start // retention has deleted what was to be read
			return nil
		}
	}
	if g.Err != nil {
		return fmt.Errorf("following counts, partition %d: %w", g.Partition, g.Err)
	}
	for i := range g.Records {
		if g.Records[i].Offset >= p.next {
			f.record(p, &g.Records[i])
		}
	}
	p.next = max(p.next, g.Next)
	return nil
}

func (f *follower) record(p *following, r *kafkalog.Record) {
	switch countslog.TypeOf(r) {
	case schemas.TypeRelease:
		rel, err := schemas.DecodeRelease(r.Value)
		if err != nil || rel.Turn <= f.done {
			return
		}
		if f.values[rel.Turn] == nil {
			f.values[rel.Turn] = map[string]schemas.Release{}
		}
		f.values[rel.Turn][string(r.Key)] = rel
	case schemas.TypeTurnEnd:
		end, err := schemas.DecodeTurnEnd(r.Value)
		if err != nil || end.Turn <= p.ended {
			return
		}
		p.ended = end.Turn
		if at, there := slices.BinarySearch(f.ends, end.Turn); !there && end.Turn > f.done {
			f.ends = slices.Insert(f.ends, at, end.Turn)
		}
	}
}

// advance hands out the turns that all partitions have ended.
func (f *follower) advance() error {
	least := f.least()
	for len(f.ends) > 0 && f.ends[0] <= least {
		turn := f.ends[0]
		f.ends = f.ends[1:]
		out := Published{Turn: turn}
		for t, values := range f.values {
			if t > turn {
				continue
			}
			for _, r := range values {
				out.Releases = append(out.Releases, r)
			}
			delete(f.values, t)
		}
		slices.SortFunc(out.Releases, func(a, b schemas.Release) int {
			return cmp.Or(cmp.Compare(a.WindowEnd, b.WindowEnd), cmp.Compare(a.Metric, b.Metric),
				cmp.Compare(a.WindowStart, b.WindowStart), cmp.Compare(a.Key, b.Key))
		})
		f.done = turn
		if err := f.fn(out); err != nil {
			return err
		}
	}
	return nil
}
