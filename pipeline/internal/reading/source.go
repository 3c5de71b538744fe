package reading

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// Source is READ: it takes the epoch, reads events and control, decides every
// record's fate, closes turns and opens them. It implements transforms.Source. Step and
// Lose are safe for concurrent use; of several Steps one runs at a time.
type Source struct {
	dep     *deployment.Deployment
	client  *kafkalog.Client
	control *controllog.Log
	opts    Options
	log     *slog.Logger
	run     int64         // the number of the run
	stalls  *watch.Stalls // may be nil
	fates   fates
	read    watch.Fates // of what Losses was not told yet
	hasher  *schemas.Hasher

	writer  *controllog.Writer
	dead    *deadLetters
	fetcher *kafkalog.Fetcher

	callMu sync.Mutex // guards calls and stopIt
	calls  int64
	stopIt context.CancelFunc
	step   sync.Mutex // held by the one step that runs

	epoch atomic.Int64 // begin looks at it while a step runs
	lost  atomic.Int64 // the epoch in which a stage has lost a partition to another writer, else −1
	session
	// ends holds the last stable offsets as they were at the first start, for runs that
	// have an end. owed is the last turn that the run is to settle: with UntilEnd
	// the last that owns an event below the ends, as far as was read.
	ends  map[int32]int64
	owed  uint64
	users map[string]*packing.User

	superseded, drained bool
}

// session is what READ knows within one epoch.
type session struct {
	partitions []*partition
	buffers    map[uint64]*packing.Buffer
	buffered   uint64
	opened     uint64 // the last turn opened in this epoch, or settled before
	openedAt   time.Time
	fromLedger uint64 // the last turn of the span to be redone from the ledger; 0 for no span
	closed     uint64 // the last turn closed on control, as far as it is known here
	asked      uint64 // the last turn this run has written a CLOSE for
	tallies    schemas.ReadTallies
	last       uint64 // bounded runs: the last turn, once lastKnown
	lastKnown  bool
	refreshed  time.Time
}

// Options say where reading ends, and to whom it tells what: pipeline.RunOptions has
// fields of the same names and meanings.
type Options struct {
	Bounded    bool
	Until      time.Time
	UntilEnd   bool
	Drain      <-chan struct{}
	StallLimit time.Duration // with Outputs.PublishEvery; no default
	Logger     *slog.Logger  // must not be nil
	Stalls     *watch.Stalls // told what READ knows; may be nil
	Losses     *watch.Losses // told what becomes of records; may be nil
}

// New prepares READ of a run that was announced on control. Close ends it.
func New(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log, opts Options) (*Source, error) {
	decoder, err := NewDecoder(ctx, d, opts.Logger)
	if err != nil {
		return nil, fmt.Errorf("preparing to decode events: %w", err)
	}
	s := &Source{
		dep: d, client: client, control: control, run: control.Run, opts: opts, log: opts.Logger, stalls: opts.Stalls,
		hasher: schemas.NewHasher(d.Config.Keys.UserHash),
		ends:   map[int32]int64{}, users: map[string]*packing.User{},
		fates: fates{decoder: decoder, turns: calendar.New(control.Header, d.Config.Privacy.Period), clock: clockOf(d), past: pastClocks(control.Header, clockOf(d))},
	}
	if !opts.Bounded && !opts.Until.IsZero() {
		s.owed = s.fates.turns.By(opts.Until.UnixMilli())
	}
	s.epoch.Store(-1)
	s.lost.Store(-1)
	if s.writer, err = controllog.NewWriter(ctx, control); err != nil {
		return nil, err
	}
	if s.dead, err = newDeadLetters(ctx, client, d, opts.Logger); err != nil {
		s.Close()
		return nil, err
	}
	s.fetcher = client.NewFetcher()
	return s, nil
}

// Lose tells READ that a stage has lost a partition to another writer in an epoch. READ
// then takes a new epoch, unless a newer run has taken over.
func (s *Source) Lose(epoch int64) { s.lost.Store(epoch) }

// Ended says how reading ended: by a drain, or because another run has taken over; and
// the last turn that the run was to settle, with Until or UntilEnd, else 0. For use after
// the last Step.
func (s *Source) Ended() (drained, superseded bool, owed uint64) {
	return s.drained, s.superseded, s.owed
}

// Step implements transforms.Source. A position other than that of the last Step is a
// restore by the engine: READ takes a new epoch.
func (s *Source) Step(ctx context.Context, at transforms.Position) (transforms.Step, error) {
	ctx, calls, own := s.begin(ctx, at)
	s.step.Lock()
	defer s.step.Unlock()
	if ctx.Err() != nil {
		return transforms.Step{}, ctx.Err()
	}
	if !own {
		if err := s.start(ctx); err != nil {
			return s.leave(at, err)
		}
	}
	next := transforms.Position{Calls: calls, Tick: at.Tick}
	elements, done, err := s.advance(ctx)
	if err != nil {
		return s.leave(at, err)
	}
	next.Epoch = s.epoch.Load() // a stalled turn takes a new one
	next.Done = done
	if len(elements) > 0 {
		next.Tick++
	}
	return transforms.Step{Next: next, Elements: elements, Opened: len(elements) > 0}, nil
}

// begin counts a call at its start and interrupts one that an engine has given
// up but that still runs. own says that the position is that of the last call.
func (s *Source) begin(ctx context.Context, at transforms.Position) (context.Context, int64, bool) {
	s.callMu.Lock()
	defer s.callMu.Unlock()
	if s.stopIt != nil {
		s.stopIt()
	}
	own := s.calls > 0 && at.Calls == s.calls && at.Epoch == s.epoch.Load()
	s.calls++
	ctx, s.stopIt = context.WithCancel(ctx)
	return ctx, s.calls, own
}

// leave ends reading when another run has taken over.
func (s *Source) leave(at transforms.Position, err error) (transforms.Step, error) {
	if err == deployment.ErrSuperseded { //nolint:errorlint // never wrapped: this package alone returns it here
		s.superseded = true
		at.Done = true
		return transforms.Step{Next: at}, nil
	}
	return transforms.Step{}, err
}

// advance goes on until a span can be opened or reading is over.
func (s *Source) advance(ctx context.Context) ([]transforms.Element, bool, error) {
	for {
		settled, err := s.catchUp()
		if err != nil {
			return nil, false, err
		}
		if s.finished(settled) {
			return nil, true, nil
		}
		if s.stalled(settled) {
			s.log.Warn("a turn is held up; taking a new epoch", "turn", s.opened)
			if err := s.start(ctx); err != nil {
				return nil, false, err
			}
			continue
		}
		elements, err := s.open(settled)
		if err != nil || elements != nil {
			return elements, false, err
		}
		wrote, err := s.closeTurns(ctx, settled)
		if err != nil {
			return nil, false, err
		}
		if wrote {
			if err := s.control.Update(ctx); err != nil {
				return nil, false, err
			}
			continue
		}
		if err := s.poll(ctx, settled); err != nil {
			return nil, false, err
		}
	}
}

// catchUp takes over what control says now.
func (s *Source) catchUp() (settled uint64, err error) {
	var newest int64
	var stop *schemas.Stop
	s.control.Look(func(v *controllog.View) {
		newest, settled, stop = v.Epoch, v.Settled, v.Stop
		s.closed = max(s.closed, v.Closed)
	})
	if newest != s.epoch.Load() {
		return 0, deployment.ErrSuperseded
	}
	if stop != nil {
		return 0, controllog.Stopped(stop)
	}
	return settled, nil
}

// finished says whether everything opened is settled and nothing more is to be
// opened: a drain, or the end of a bounded run.
func (s *Source) finished(settled uint64) bool {
	if settled < s.opened {
		return false
	}
	select {
	case <-s.opts.Drain:
		s.drained = true
		return true
	default:
	}
	switch {
	case s.opts.UntilEnd:
		return s.pastEnds() && settled >= s.owed
	case !s.opts.Bounded && !s.opts.Until.IsZero():
		return settled >= s.owed
	}
	return s.lastKnown && settled >= s.last && s.atEnd()
}

// pastEnds says whether everything was read that stood on the topic at the
// start.
func (s *Source) pastEnds() bool {
	for _, p := range s.partitions {
		if p.next < s.ends[p.id] {
			return false
		}
	}
	return true
}

// stalled says that the open turn will not settle: it takes too long, or a
// stage has lost a partition to another writer. If that writer belongs to a newer
// run, start finds out.
func (s *Source) stalled(settled uint64) bool {
	lost := s.lost.Swap(-1) == s.epoch.Load()
	return s.opened > settled && (lost || time.Since(s.openedAt) > s.opts.StallLimit)
}

// open opens the span after the settled turn once control has its CLOSE and every
// partition was read up to its cut.
func (s *Source) open(settled uint64) ([]transforms.Element, error) {
	turn := settled + 1
	if s.opened >= turn || s.closed < turn {
		return nil, nil
	}
	var c *controllog.Closing
	settledAt := int64(-1)
	s.control.Look(func(v *controllog.View) {
		c = v.Closes[turn]
		if at, ok := v.SettledAt[settled]; ok {
			settledAt = at
		}
	})
	if c == nil || c.First != turn {
		return nil, fmt.Errorf("opening turn %d: control says that it is closed, and no CLOSE that begins with it was read: %w", turn, deployment.ErrLogFault)
	}
	open := schemas.Open{Epoch: s.epoch.Load(), First: c.First, Turn: c.Turn, Contributions: c.Contributions, SettledAt: settledAt, FromLedger: s.fromLedger == c.Turn}
	if !open.FromLedger && !s.readTo(c.Cuts) {
		return nil, nil
	}
	elements, err := s.elements(open, &c.Close)
	if err != nil {
		return nil, err
	}
	for turn := c.First; turn <= c.Turn; turn++ {
		if b := s.buffers[turn]; b != nil {
			s.buffered -= b.Records
			delete(s.buffers, turn)
		}
	}
	s.opened, s.openedAt = c.Turn, time.Now()
	return elements, nil
}

// elements packs the contributions of a span's turns, and one OPEN for each shard.
func (s *Source) elements(open schemas.Open, c *schemas.Close) ([]transforms.Element, error) {
	shards := s.dep.Config.Shards
	var out []transforms.Element
	for turn := c.First; turn <= c.Turn && !open.FromLedger; turn++ {
		b := s.buffers[turn]
		if b == nil {
			b = packing.New(shards)
		}
		if b.Records != c.Of(turn) {
			return nil, fmt.Errorf("opening turn %d: the events topic gives another number of contributions than its CLOSE says: records were changed or lost, or the configuration was changed: %w", turn, deployment.ErrLogFault)
		}
		var err error
		if out, err = b.Contributions(out, open.Epoch, turn); err != nil {
			return nil, err
		}
	}
	for n := range shards {
		open.Shard, open.Shards = uint32(n), uint32(shards)
		out = append(out, transforms.Element{Shard: n, Data: schemas.EncodeOpen(open)})
	}
	return out, nil
}

// readTo says whether every partition was read up to a CLOSE's cuts.
func (s *Source) readTo(cuts []schemas.Cut) bool {
	for _, c := range cuts {
		for _, p := range s.partitions {
			if p.id == c.Partition && p.next < c.Cut {
				return false
			}
		}
	}
	return true
}

// atEnd says whether a bounded run has read everything.
func (s *Source) atEnd() bool {
	for _, p := range s.partitions {
		if !p.done() {
			return false
		}
	}
	return true
}

// Close ends the connections that New and Step have made; not the client.
func (s *Source) Close() {
	if s.fetcher != nil {
		s.fetcher.Close()
	}
	if s.writer != nil {
		s.writer.Close()
	}
	if s.dead != nil {
		s.dead.close()
	}
}
