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

// Turn holds the values of one turn or, with Options.Together, of several turns.
type Turn struct {
	Turn uint64 // number of the turn; of several, the last
	// Releases contains every value once. The values are sorted by the end of the window, the
	// metric, the start of the window, and the key.
	Releases []schemas.Release
	End      time.Time // end of the last turn
	// Published is the append time of the turn's end on the turns topic. If the ends of later turns
	// were read with it, it is the append time of the last of them.
	Published time.Time
	// Generation is the number of the configuration under which the last turn ran. Since is the end
	// of the first turn in this Turn that ran under that configuration.
	Generation uint32
	Since      time.Time
}

// Position is a starting point for Follow, after a settled turn. The zero Position is the beginning
// of the counts and turns topics.
type Position struct {
	Turn   uint64  // the settled turn
	Counts []int64 // offset on counts after the turn's values, by partition
	Ends   int64   // offset on the turns topic, at or before the ends of all later turns
}

// Options configure Follow. With the zero value, Follow starts after the last settled turn.
type Options struct {
	From *Position // starting point, such as the argument of RunOptions.OnStart; if set, Follow does not read control
	// Together, if above 0, joins settled turns into one Turn, as long as the Turn spans at most
	// this many offsets of counts. A long history is then read many times faster.
	Together int
	// OnResponse, if set, is called after every response about the turns topic. This is every few
	// hundred milliseconds while brokers respond. current reports whether all turns that were
	// settled at that time have been passed to fn.
	OnResponse func(current bool)
	// Logger, if set, receives warnings about brokers that do not respond, and a warning if the
	// newest values are not on the configured topic.
	Logger *slog.Logger
}

// Follow calls fn with the values of each turn on counts, in order, as soon as the turn is settled.
// It returns nil when ctx ends, or the first error of fn. It skips foreign records, and continues
// after records that have been deleted. If the end of a turn is missing, the turn's values are
// passed to fn with the next turn.
//
// fn may be slow: later turns stay on the topics, and OnResponse is not called while fn runs. If
// the cluster does not respond, or a partition has no leader, Follow waits until ctx ends. Only a
// run, which writes counts, must limit such a wait.
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

// fetchBytes is the approximate memory for fetched records of counts, summed over all partitions.
const fetchBytes = 8 << 20

// pollWait is how long a fetch waits for the first record.
const pollWait = 250 * time.Millisecond

func follow(ctx context.Context, d *deployment.Deployment, o Options, fn func(Turn) error) error {
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	cfg, err := connect.Config(&d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	cfg.RetryFor = watch.ForEver // the caller decides how long to wait for brokers
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
		onResponse: o.OnResponse, maxTogether: int64(o.Together), log: log,
		lastTurn: from.Turn, ends: from.Ends, next: make([]int64, d.Config.ReleaseShards)}
	copy(f.next, from.Counts)
	for shard := range int32(d.Config.ReleaseShards) {
		r := client.NewRangeReader(d.Config.Outputs.Counts, shard)
		r.MaxBytes = int32(min(max(fetchBytes/d.Config.ReleaseShards, 64<<10), 1<<20))
		f.partitions = append(f.partitions, r)
	}
	return f.follow(ctx)
}

// watchBrokers logs which brokers cannot be reached. It returns a function that ends this.
func watchBrokers(ctx context.Context, client *kafkalog.Client, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { watch.Brokers(ctx, client, log) })
	return func() {
		cancel()
		watcher.Wait()
	}
}

// responded calls onResponse after a response about the turns topic. If the newest end of a turn
// names another counts topic, it logs a warning, once.
func (f *follower) responded(current bool) {
	if current && f.otherCounts != "" && !f.warned {
		f.warned = true
		f.log.Warn(fmt.Sprintf("according to topic %s, the newest values are on topic %s, but outputs.counts is %s, "+
			"which gets values only when a run writes to it: if it is the wrong topic, correct outputs.counts", f.turns,
			f.otherCounts, f.counts))
	}
	if f.onResponse != nil {
		f.onResponse(current)
	}
}

// follower reads the values of a turn from counts after the turn's end from the turns topic.
type follower struct {
	client        *kafkalog.Client
	counts, turns string // topics
	fn            func(Turn) error
	onResponse    func(current bool)
	maxTogether   int64
	log           *slog.Logger
	otherCounts   string  // counts topic named by the newest end, if it is not f.counts
	warned        bool    // whether a warning about otherCounts was logged
	appended      int64   // append time of the newest end, Unix milliseconds
	lastTurn      uint64  // last turn passed to fn
	ends          int64   // offset of the next record on the turns topic
	next          []int64 // by partition of counts: offset of the next record
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
				f.responded(f.ends >= fetched[i].LastStable)
			}
		}
	}
}

// readEnds delivers the turns whose ends were fetched.
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
		case err != nil: // a foreign record
		case end.Counts != f.counts:
			f.otherCounts = end.Counts
		default:
			f.otherCounts, f.appended = "", r.Timestamp
			ends = append(ends, end)
		}
	}
	for {
		ends = slices.DeleteFunc(ends, func(end schemas.TurnEnd) bool { return end.Turn <= f.lastTurn })
		if len(ends) == 0 {
			break
		}
		if err := ctx.Err(); err != nil { // the delivery of buffered values does not check ctx
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
		// Records after the last end are not settled: a restore of the topic can replace them.
		p.Forget()
	}
	f.ends = max(f.ends, g.Next)
	return nil
}

// lastTogether returns the index of the last end that is delivered together with the first end.
func (f *follower) lastTogether(ends []schemas.TurnEnd) (last int) {
	for k, end := range ends {
		if end.Turn <= ends[last].Turn {
			continue
		}
		if f.maxTogether == 0 || f.unreadBefore(end) > f.maxTogether {
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

// errPastCounts marks the end of a turn as foreign: it names offsets that do not exist on counts
// yet, although a run writes values before their end.
var errPastCounts = errors.New("ignoring the end of a turn that is beyond the records of counts")

// shortLogLimit is how long the log of counts may be shorter than the end of a turn requires. A new
// leader needs some time to learn the length of its log.
const shortLogLimit = 5 * time.Second

// withinCounts returns a context for reading counts up to an end of a turn. If counts is still
// shorter than that end requires after shortLogLimit, the context ends with errPastCounts, because
// the read would never finish.
func (f *follower) withinCounts(ctx context.Context, end *schemas.TurnEnd) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	check := time.AfterFunc(shortLogLimit, func() {
		for shard := range min(len(f.next), len(end.CountsEnd)) {
			bounds, err := f.client.Offsets(ctx, f.counts, int32(shard))
			if err != nil {
				return // ctx has ended: all other errors are retried
			}
			if end.CountsEnd[shard] > bounds.High {
				cancel(errPastCounts)
			}
		}
	})
	return ctx, func() {
		check.Stop()
		cancel(nil)
	}
}

// deliver passes the values of all turns up to the last end to fn; false if that end is foreign.
func (f *follower) deliver(ctx context.Context, ends []schemas.TurnEnd) (delivered bool, err error) {
	end := ends[len(ends)-1]
	since := ends[slices.IndexFunc(ends, func(e schemas.TurnEnd) bool { return e.Generation == end.Generation })].End
	bounded, stop := f.withinCounts(ctx, &end)
	defer stop()
	values := map[string]schemas.Release{} // by record key: counts may contain a value twice
	before := slices.Clone(f.next)
	for shard := range min(len(f.next), len(end.CountsEnd)) {
		err := f.read(bounded, shard, end.CountsEnd[shard], values)
		if errors.Is(err, errPastCounts) {
			f.next = before // the next end needs the values read so far
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
	f.lastTurn = end.Turn
	return true, f.fn(out)
}

// read adds the values of a partition of counts below the offset to to the values of a turn.
func (f *follower) read(ctx context.Context, shard int, limit int64, values map[string]schemas.Release) error {
	for f.next[shard] < limit {
		err := countslog.EachValue(ctx, f.partitions[shard], f.next[shard], limit, countslog.IgnoreForeign,
			func(r schemas.Release, key, _ []byte) error {
				if r.Turn > f.lastTurn {
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
		f.next[shard] = limit
	}
	return nil
}
