package published

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Turn holds the values of one turn, or of several: see Options.Together.
type Turn struct {
	Turn uint64 // number of the turn, or of the last one
	// Releases contains each value once, ordered by the end of its window, metric, the start of its
	// window, and key.
	Releases []schemas.Release
	End      time.Time // end of the turn
	// Published is the append time of the end, or of the end of a later turn that was read with it.
	Published time.Time
	// Generation is the number of the turn's configuration. Since is the end of the first of these
	// turns with that configuration.
	Generation uint32
	Since      time.Time
}

// Position is the starting point of Follow, after a settled turn. The zero Position is the
// beginning of both topics.
type Position struct {
	Turn   uint64  // the settled turn
	Counts []int64 // its end on counts, by partition
	Ends   int64   // an offset of the turns topic: the ends of later turns are at or after it
}

// Options configure Follow. With the zero value, Follow reads the last settled turn from control
// and begins after it.
type Options struct {
	From *Position // starting point, such as the argument of RunOptions.OnStart; Follow then does not read control
	// Together, if above 0, joins settled turns into one, up to this many offsets of counts. This
	// makes reading a long history many times faster.
	Together int
	// OnResponse, if given, is called after every response about the turns topic, which is every
	// few hundred milliseconds while brokers respond. current reports whether every turn settled by
	// then has been passed to fn.
	OnResponse func(current bool)
	// Logger, if given, receives warnings about brokers that do not respond, and a warning if the
	// newest values are not on the configured topic.
	Logger *slog.Logger
}

// Follow calls fn with the values of each turn on counts, in order, as soon as the turn is settled.
// It returns nil when ctx ends, or the first error of fn. It skips records that are gone from the
// topics; the values of a turn whose end is missing are returned with the next turn.
//
// fn may be slow: later turns stay on the topics, and OnResponse is not called meanwhile. Follow
// skips foreign records. While the cluster does not respond, or a partition has no leader, Follow
// waits until ctx ends, because only the run that writes counts has to limit such a wait.
func Follow(ctx context.Context, d *deployment.Deployment, o Options, fn func(Turn) error) error {
	err := follow(ctx, d, o, fn)
	if err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		err = fmt.Errorf("%w: check deployment and outputs, and that tollgate init has created the topics", err)
	}
	return err
}

// keptBytes is the approximate memory for fetched records of counts, over all partitions.
const keptBytes = 8 << 20

// pollWait is how long a fetch waits for the first record.
const pollWait = 250 * time.Millisecond

func follow(ctx context.Context, d *deployment.Deployment, o Options, fn func(Turn) error) error {
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	cfg, err := connect.Config(&d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	cfg.RetryFor = watch.ForEver // a reader of counts waits for brokers as long as its caller wants
	client, err := watch.AwaitBroker(ctx, cfg, watch.ForEver, log)
	if err != nil {
		return err
	}
	defer client.Close()
	defer watchBrokers(ctx, client, log)()
	from := o.From
	if from == nil {
		now, err := countslog.CurrentPosition(ctx, client, d, func() (*controllog.Log, error) {
			return controllog.Open(ctx, client, d.Config.Outputs.Control, d.Config.LedgerSlots,
				slog.New(slog.DiscardHandler))
		})
		if err != nil {
			return fmt.Errorf("following counts: %w", err)
		}
		from = (*Position)(&now)
	}
	f := follower{client: client, counts: d.Config.Outputs.Counts, turns: d.Config.Outputs.Turns, fn: fn,
		onResponse: o.OnResponse, together: int64(o.Together), log: log,
		done: from.Turn, ends: from.Ends, next: make([]int64, d.Config.ReleaseShards)}
	copy(f.next, from.Counts)
	for shard := range int32(d.Config.ReleaseShards) {
		r := client.NewRangeReader(d.Config.Outputs.Counts, shard)
		r.MaxBytes = int32(min(max(keptBytes/d.Config.ReleaseShards, 64<<10), 1<<20))
		f.partitions = append(f.partitions, r)
	}
	return f.follow(ctx)
}

// watchBrokers logs which brokers cannot be reached, until the returned function is called.
func watchBrokers(ctx context.Context, client *kafkalog.Client, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { watch.Brokers(ctx, client, log) })
	return func() {
		cancel()
		watching.Wait()
	}
}

// answered calls onResponse after a response about the turns topic. It warns once if the newest end
// of a turn names another counts topic.
func (f *follower) answered(current bool) {
	if current && f.elsewhere != "" && !f.warned {
		f.warned = true
		f.log.Warn(fmt.Sprintf("topic %s says that the newest values are on topic %s, but outputs.counts is %s, "+
			"where values appear once a run writes to it: if that is the wrong topic, correct outputs.counts", f.turns,
			f.elsewhere, f.counts))
	}
	if f.onResponse != nil {
		f.onResponse(current)
	}
}

// follower reads a turn from counts once its end is on the turns topic.
type follower struct {
	client        *kafkalog.Client
	counts, turns string // topics
	fn            func(Turn) error
	onResponse    func(current bool)
	together      int64
	log           *slog.Logger
	elsewhere     string  // the counts topic that the newest end names, if it is another one
	warned        bool    // whether elsewhere was logged
	appended      int64   // append time of the newest end, Unix milliseconds
	done          uint64  // the last turn passed to fn
	ends          int64   // offset of the next end of a turn
	next          []int64 // offset of the next value, by partition of counts
	partitions    []*kafkalog.RangeReader
}

func (f *follower) follow(ctx context.Context) error {
	fetcher := f.client.NewFetcher()
	defer fetcher.Close()
	for {
		fetched, err := fetcher.Poll(ctx, []kafkalog.Fetch{{Topic: f.turns, Offset: f.ends}}, 1, pollWait)
		if err != nil {
			return fmt.Errorf("following the ends of turns: %w", err)
		}
		for i := range fetched {
			if err := f.readEnds(ctx, &fetched[i]); err != nil {
				return err
			}
			if fetched[i].Err == nil {
				f.answered(f.ends >= fetched[i].LastStable)
			}
		}
	}
}

// readEnds passes on the turns whose ends were fetched.
func (f *follower) readEnds(ctx context.Context, g *kafkalog.Fetched) error {
	if errors.Is(g.Err, kafkalog.ErrOffsetOutOfRange) {
		bounds, err := f.client.Offsets(ctx, f.turns, 0)
		if err == nil && (f.ends < bounds.Start || f.ends > bounds.High) {
			f.ends = bounds.Start // retention has deleted the next records, or the topic was recreated
			return nil
		}
	}
	if g.Err != nil {
		return fmt.Errorf("following the ends of turns: %w", g.Err)
	}
	var ends []schemas.TurnEnd
	for _, r := range g.Records {
		if r.Offset < f.ends {
			continue
		}
		end, err := schemas.DecodeTurnEnd(r.Value)
		switch {
		case err != nil: // foreign
		case end.Counts != f.counts:
			f.elsewhere = end.Counts
		default:
			f.elsewhere, f.appended = "", r.Timestamp
			ends = append(ends, end)
		}
	}
	for {
		ends = slices.DeleteFunc(ends, func(end schemas.TurnEnd) bool { return end.Turn <= f.done })
		if len(ends) == 0 {
			break
		}
		if err := ctx.Err(); err != nil { // passing on buffered values does not check it
			return err
		}
		last := f.lastTogether(ends)
		delivered, err := f.deliver(ctx, ends[:last+1])
		if err != nil {
			return err
		}
		if !delivered {
			ends = slices.Delete(ends, last, last+1)
		}
	}
	for _, p := range f.partitions {
		// Records after the last end are not settled: an unclean election or a restored copy can
		// replace them.
		p.Forget()
	}
	f.ends = max(f.ends, g.Next)
	return nil
}

// lastTogether returns the index of the last end whose values are passed on together with the
// values of the first end.
func (f *follower) lastTogether(ends []schemas.TurnEnd) (last int) {
	for k, end := range ends {
		if end.Turn <= ends[last].Turn {
			continue
		}
		if f.together == 0 || f.unreadBefore(end) > f.together {
			break
		}
		last = k
	}
	return last
}

// unreadBefore returns the number of unread offsets of counts before the end of a turn.
func (f *follower) unreadBefore(end schemas.TurnEnd) (n int64) {
	for shard := range min(len(f.next), len(end.CountsEnd)) {
		n += max(end.CountsEnd[shard]-f.next[shard], 0)
	}
	return n
}

// errBeyond marks an end of a turn as foreign: it names offsets that counts does not have yet,
// although a run writes values before their end.
var errBeyond = errors.New("ignoring the end of a turn that is beyond the records of counts")

// beyondPatience is how long a log may be shorter than the end of a turn requires: a new leader
// needs a moment to learn the length of its log.
const beyondPatience = 5 * time.Second

// withinCounts returns a context that ends with errBeyond if counts turns out to be shorter than an
// end of a turn requires: reading up to that end would take for ever.
func (f *follower) withinCounts(ctx context.Context, end *schemas.TurnEnd) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	check := time.AfterFunc(beyondPatience, func() {
		for shard := range min(len(f.next), len(end.CountsEnd)) {
			bounds, err := f.client.Offsets(ctx, f.counts, int32(shard))
			if err != nil {
				return // ctx has ended: any other error is retried for ever
			}
			if end.CountsEnd[shard] > bounds.High {
				cancel(errBeyond)
			}
		}
	})
	return ctx, func() {
		check.Stop()
		cancel(nil)
	}
}

// deliver passes on the values of all turns up to the last of the ends. It returns false if that
// end is foreign.
func (f *follower) deliver(ctx context.Context, ends []schemas.TurnEnd) (delivered bool, err error) {
	end := ends[len(ends)-1]
	since := ends[slices.IndexFunc(ends, func(e schemas.TurnEnd) bool { return e.Generation == end.Generation })].End
	within, stop := f.withinCounts(ctx, &end)
	defer stop()
	values := map[string]schemas.Release{} // by record key, because a value may be on counts twice
	before := slices.Clone(f.next)
	for shard := range min(len(f.next), len(end.CountsEnd)) {
		err := f.read(within, shard, end.CountsEnd[shard], values)
		if errors.Is(err, errBeyond) {
			f.next = before // the values read so far are read again for another end
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("following counts: %w", err)
		}
	}
	out := Turn{Turn: end.Turn, End: time.UnixMilli(end.End), Published: time.UnixMilli(f.appended),
		Generation: end.Generation, Since: time.UnixMilli(since), Releases: slices.Collect(maps.Values(values))}
	slices.SortFunc(out.Releases, func(a, b schemas.Release) int {
		return cmp.Or(cmp.Compare(a.WindowEnd, b.WindowEnd), cmp.Compare(a.Metric, b.Metric),
			cmp.Compare(a.WindowStart, b.WindowStart), cmp.Compare(a.Key, b.Key))
	})
	f.done = end.Turn
	return true, f.fn(out)
}

// read adds a partition's values below an offset to the values of a turn.
func (f *follower) read(ctx context.Context, shard int, to int64, values map[string]schemas.Release) error {
	for f.next[shard] < to {
		err := countslog.EachValue(ctx, f.partitions[shard], f.next[shard], to, countslog.IgnoreForeign,
			func(r schemas.Release, key, _ []byte) error {
				if r.Turn > f.done {
					values[string(key)] = r
				}
				return nil
			})
		if errors.Is(err, kafkalog.ErrOffsetOutOfRange) {
			bounds, boundsErr := f.client.Offsets(ctx, f.counts, int32(shard))
			if boundsErr == nil && f.next[shard] < bounds.Start {
				f.next[shard] = bounds.Start // retention has deleted the next records
				continue
			}
		}
		if err != nil {
			return err
		}
		f.next[shard] = to
	}
	return nil
}
