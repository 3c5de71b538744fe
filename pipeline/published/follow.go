package published

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Turn is what counts holds of a turn, or of several: see Options.Together.
type Turn struct {
	Turn uint64 // the turn, or the last one
	// Releases holds each value once, in the order of the windows' ends, metrics, the windows'
	// starts and keys; empty if nothing was released.
	Releases []schemas.Release
	End      time.Time // where the turn ends
	// Published is when its end was appended, or the end of a later turn that was read with it.
	Published time.Time
	// Generation is the configuration of the turn. Since is the end of the first of the turns
	// that has it.
	Generation uint32
	Since      time.Time
}

// Position is where Follow begins: after a settled turn. The zero Position is the beginning of both
// topics.
type Position struct {
	Turn   uint64  // the last turn that is not followed
	Counts []int64 // its end on counts, by partition
	Ends   int64   // an offset of the turns topic before which no later turn ends
}

// Options are options of Follow. The zero value begins after the last settled turn, which Follow
// reads from control; with From, it reads only counts and the turns topic.
type Options struct {
	From *Position // where to begin, as RunOptions.OnStart is given it
	// Together hands out turns that are settled already as one, as long as they have no more
	// offsets on counts; 0: each turn alone. A long history is read many times as quickly.
	Together int
	// OnAnswer, if given, is called whenever the turns topic has responded: every few hundred
	// milliseconds while brokers are there. current reports that every turn settled by then has
	// been passed to fn.
	OnAnswer func(current bool)
	// Logger, if given, receives warnings: no broker responds, a broker cannot be reached, or is
	// reachable again, and the newest values are on another topic than the configured one.
	Logger *slog.Logger
}

// Follow calls fn with the values of each turn on counts, in order, as soon as the turn is settled,
// until ctx ends (which is no error) or fn returns an error, which it returns. Records that are
// gone from the topics are left out: the values of a turn whose end is missing are returned with
// the next turn.
//
// The topics are the queue: fn may take as long as it wants, and no more than one turn is kept
// meanwhile; OnAnswer is not called then. Foreign records are left out. While the cluster does not
// respond, or a partition has no leader, Follow waits as long as ctx lasts: the run that writes
// there decides how long that may go on.
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

// keptBytes is about how much of counts is kept, over all partitions, as it is on the topic.
const keptBytes = 8 << 20

// pollWait is how long a fetch waits for the first record.
const pollWait = 250 * time.Millisecond

func follow(ctx context.Context, d *deployment.Deployment, o Options, fn func(Turn) error) error {
	log := o.Logger
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	cfg, err := connect.Config(&d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	cfg.RetryFor = watch.ForEver // reading what a run has published does not decide when the run ends
	client, err := watch.AwaitBroker(ctx, cfg, watch.ForEver, log)
	if err != nil {
		return err
	}
	defer client.Close()
	defer watchBrokers(ctx, client, log)()
	from := o.From
	if from == nil {
		now, err := countslog.CurrentPosition(ctx, client, d)
		if err != nil {
			return fmt.Errorf("following counts: %w", err)
		}
		from = (*Position)(&now)
	}
	f := follower{client: client, counts: d.Config.Outputs.Counts, turns: d.Config.Outputs.Turns, fn: fn,
		onAnswer: o.OnAnswer, together: int64(o.Together), log: log,
		done: from.Turn, ends: from.Ends, next: make([]int64, d.Config.ReleaseShards)}
	copy(f.next, from.Counts)
	for shard := range int32(d.Config.ReleaseShards) {
		r := client.NewRangeReader(d.Config.Outputs.Counts, shard)
		r.MaxBytes = int32(min(max(keptBytes/d.Config.ReleaseShards, 64<<10), 1<<20))
		f.partitions = append(f.partitions, r)
	}
	return f.follow(ctx)
}

// watchBrokers logs which brokers cannot be reached; the function that it returns ends that.
func watchBrokers(ctx context.Context, client *kafkalog.Client, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch.Brokers(ctx, client, log)
	}()
	return func() {
		cancel()
		<-done
	}
}

// answered reports that the turns topic has responded, and warns once if its newest end is about
// another topic.
func (f *follower) answered(current bool) {
	if current && f.elsewhere != "" && !f.warned {
		f.warned = true
		f.log.Warn(fmt.Sprintf("topic %s says that the newest values are on topic %s, and outputs.counts names %s, "+
			"whose values appear once a run writes there: if that is the wrong topic, correct outputs.counts", f.turns,
			f.elsewhere, f.counts))
	}
	if f.onAnswer != nil {
		f.onAnswer(current)
	}
}

// follower reads a turn from counts once its end is on the turns topic.
type follower struct {
	client        *kafkalog.Client
	counts, turns string // topics
	fn            func(Turn) error
	onAnswer      func(current bool)
	together      int64
	log           *slog.Logger
	elsewhere     string  // the topic that the newest end names, if not counts
	warned        bool    // whether elsewhere was logged
	appended      int64   // when the newest end was, in Unix milliseconds
	done          uint64  // the last turn that was handed out
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

// readEnds hands out the turns whose ends were fetched.
func (f *follower) readEnds(ctx context.Context, g *kafkalog.Fetched) error {
	if errors.Is(g.Err, kafkalog.ErrOffsetOutOfRange) {
		bounds, err := f.client.Offsets(ctx, f.turns, 0)
		if err == nil && (f.ends < bounds.Start || f.ends > bounds.High) {
			f.ends = bounds.Start // retention has deleted the next records, or the topic was made anew
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
		if err := ctx.Err(); err != nil { // passing on buffered values involves no call that would notice
			return err
		}
		last := f.lastTogether(ends)
		handed, err := f.deliver(ctx, ends[:last+1])
		if err != nil {
			return err
		}
		if !handed {
			ends = slices.Delete(ends, last, last+1)
		}
	}
	for _, p := range f.partitions {
		// Nothing has settled what lies beyond the last end: an unclean election or a restored copy
		// can put other values in its place.
		p.Forget()
	}
	f.ends = max(f.ends, g.Next)
	return nil
}

// lastTogether returns the index of the last end whose values are passed on together with the first
// one's: a later turn's, as long as there are few values.
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

// unreadBefore returns how many unread records of counts are before the end of a turn.
func (f *follower) unreadBefore(end schemas.TurnEnd) (n int64) {
	for shard := range min(len(f.next), len(end.CountsEnd)) {
		n += max(end.CountsEnd[shard]-f.next[shard], 0)
	}
	return n
}

// errBeyond marks an end of a turn as foreign: it names values that counts does not have, and
// values are written before their end.
var errBeyond = errors.New("ignoring the end of a turn that is beyond the records of counts")

// beyondPatience is how long a log may be shorter than a turn's end claims: a broker that has just
// become the leader needs a moment to learn the length of its log.
const beyondPatience = 5 * time.Second

// withinCounts returns a context that ends with errBeyond once it is certain that an end of a turn
// cannot be read up to: that would take for ever.
func (f *follower) withinCounts(ctx context.Context, end *schemas.TurnEnd) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	check := time.AfterFunc(beyondPatience, func() {
		for shard := range min(len(f.next), len(end.CountsEnd)) {
			bounds, err := f.client.Offsets(ctx, f.counts, int32(shard))
			if err != nil {
				return // the error of ctx: any other is retried for ever
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

// deliver passes on the values on counts of the last given end's turn, and of those before it;
// false if that end is foreign.
func (f *follower) deliver(ctx context.Context, ends []schemas.TurnEnd) (handed bool, err error) {
	end := ends[len(ends)-1]
	since := ends[slices.IndexFunc(ends, func(e schemas.TurnEnd) bool { return e.Generation == end.Generation })].End
	within, over := f.withinCounts(ctx, &end)
	defer over()
	values := map[string]schemas.Release{} // by key of the record: a value may be on counts twice
	was := slices.Clone(f.next)
	for shard := range min(len(f.next), len(end.CountsEnd)) {
		err := f.read(within, shard, end.CountsEnd[shard], values)
		if errors.Is(err, errBeyond) {
			f.next = was // these values are returned with another end
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

// read adds the values of a partition up to an offset to a turn's values.
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
