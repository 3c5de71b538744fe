package reading

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// Source is READ of one group of partitions: it reads events and control, decides every
// record's fate, and hands on the contributions of turns that open. That of group 0 takes the
// epochs and closes turns; those of other groups take part in its epochs (groups.go).
// It implements transforms.Source. Safe for concurrent use; of several Steps one runs at a time.
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

	epoch  atomic.Int64 // begin looks at it while a step runs; −1: in none
	reader int64        // of a group but the first: its number
	// assembling is since when group 0 waits for the readers of other groups.
	assembling time.Time
	session
	// underWay is the last turn that a drain must finish: a turn that this run opened in any epoch,
	// or one that an earlier run left with decisions on the ledger.
	underWay uint64
	// owed is the last turn that the run is to settle: with UntilEnd the last that owns an
	// event of this group below the ends, as far as was read.
	owed uint64
	// heldUp counts the epochs in a row that group 0 gave up after turn heldAfter was settled.
	heldUp    int
	heldAfter uint64
	// answered is when the last fetch that had an answer was sent, by partition and in any epoch,
	// Unix milliseconds.
	answered map[int32]int64
	users    *packing.Users
	spare    *packing.Pool
}

// session is what READ knows within one epoch.
type session struct {
	partitions []*partition
	buffers    map[uint64]*packing.Buffer
	buffered   uint64
	beyond     beyond
	needed     uint64 // lastNeeded as of the last poll
	opened     uint64 // the last turn opened in this epoch, or settled before
	openedAt   time.Time
	fromLedger uint64 // the last turn of the span to be redone from the ledger; 0 for no span
	closed     uint64 // the last turn closed on control, as far as it is known here
	asked      uint64 // the last turn this run has written a CLOSE for
	said       said   // groups but the first: the newest PASSED
	tallies    schemas.ReadTallies
	last       uint64 // bounded runs: the last turn, once lastKnown
	lastKnown  bool
	refreshed  time.Time
}

// Options say where reading ends, and to whom it tells what: pipeline.RunOptions has
// fields of the same names and meanings.
type Options struct {
	// Group is which of Groups groups of partitions is read: every Groups-th partition from
	// number Group on. Groups 0 stands for 1.
	Group, Groups int
	// Crowded says that the engine may take the steps of several groups one after the other.
	Crowded  bool
	Bounded  bool
	Until    time.Time
	UntilEnd bool
	// Ends are the last stable offsets of the events topic when the run began, by partition,
	// for Bounded and UntilEnd: Ends gives them.
	Ends       map[int32]int64
	StallLimit time.Duration // with Outputs.PublishEvery; no default
	Logger     *slog.Logger  // must not be nil
	Stalls     *watch.Stalls // told what READ knows; may be nil
	Losses     *watch.Losses // told what becomes of records; may be nil
}

// check refuses options under which a reader would end before it has read anything, would never
// end, or would read what no reader of its run reads.
func (o *Options) check() error {
	switch {
	case o.Group < 0 || o.Group >= o.Groups || o.Groups > schemas.MaxGroups:
		return fmt.Errorf("reading group %d of %d: there is no such group", o.Group, o.Groups)
	case (o.Bounded || o.UntilEnd) && len(o.Ends) == 0:
		return errors.New("reading up to the ends of the events topic: they are missing")
	case o.StallLimit <= 0:
		return fmt.Errorf("reading with a stall limit of %v: it must be positive", o.StallLimit)
	}
	return nil
}

// Ends returns the last stable offsets of a topic by partition.
func Ends(ctx context.Context, client *kafkalog.Client, topic string) (map[int32]int64, error) {
	ids, err := client.Partitions(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("looking for the events topic: %w", err)
	}
	ends := make(map[int32]int64, len(ids))
	for _, id := range ids {
		bounds, err := client.Offsets(ctx, topic, id)
		if err != nil {
			return nil, fmt.Errorf("looking at partition %d of the events topic: %w", id, err)
		}
		ends[id] = bounds.LastStable
	}
	return ends, nil
}

// New prepares READ of a run that was announced on control. Close ends it. It refuses Bounded and
// UntilEnd without Ends, a group that is not one of Groups, and a StallLimit that is not positive.
func New(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log, opts Options) (*Source, error) {
	opts.Groups = max(opts.Groups, 1)
	if err := opts.check(); err != nil {
		return nil, err
	}
	decoder, err := NewDecoder(ctx, d, opts.Logger)
	if err != nil {
		return nil, fmt.Errorf("preparing to decode events: %w", err)
	}
	s := &Source{
		dep: d, client: client, control: control, run: control.Run, opts: opts, log: opts.Logger, stalls: opts.Stalls,
		hasher: schemas.NewHasher(d.Config.Keys.UserHash.Reveal()), reader: -1, spare: packing.NewPool(d.Config.Shards),
		fates: fates{decoder: decoder, turns: calendar.New(control.Header, d.Config.Privacy.Period), clock: clockOf(d), past: pastClocks(control.Header, clockOf(d))},
	}
	s.users = packing.NewUsers(s.hasher, d.Config.Shards, knownUsersBytes)
	if !opts.Bounded && !opts.Until.IsZero() {
		s.owed = s.fates.turns.By(opts.Until.UnixMilli())
	}
	s.epoch.Store(-1)
	if s.writer, err = controllog.NewWriter(ctx, control); err != nil {
		return nil, err
	}
	if s.dead, err = newDeadLetters(ctx, client, d, opts.Logger); err != nil {
		s.Close()
		return nil, err
	}
	s.fetcher = client.NewFetcher()
	s.fetcher.Reuse = true // nothing of an event's record is kept beyond the poll that brought it
	return s, nil
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
		if err := s.begun(ctx); err != nil {
			return s.leave(at, err)
		}
	}
	next := transforms.Position{Group: at.Group, Calls: calls, Tick: at.Tick}
	out, err := s.advance(ctx)
	if err != nil {
		return s.leave(at, err)
	}
	next.Epoch = s.epoch.Load() // a stalled turn takes a new one
	next.Done = out.done
	if out.opened {
		next.Tick = out.tick + 1
	}
	return transforms.Step{Next: next, Elements: out.elements, Opened: out.opened}, nil
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

// errReplaced says that another process of this run reads the group now: this one is what an
// engine has given up, or the engine has to begin anew.
var errReplaced = errors.New("another process of this run has begun to read the same partitions")

// leave ends reading where no error is to be told: another run has taken over, or control says
// what stopped the deployment.
func (s *Source) leave(at transforms.Position, err error) (transforms.Step, error) {
	if errors.Is(err, deployment.ErrSuperseded) || errors.Is(err, deployment.ErrStopped) {
		at.Done = true
		return transforms.Step{Next: at}, nil
	}
	return transforms.Step{}, err
}

// outcome is what a step comes to: a span was opened, reading is over, or neither.
type outcome struct {
	elements     []transforms.Element
	tick         int64 // of the span that was opened
	opened, done bool
}

// advance goes on until a span can be opened, reading is over, or it is time to hand back.
func (s *Source) advance(ctx context.Context) (outcome, error) {
	openStep, idleStep := s.steps()
	for began := time.Now(); ; {
		settled, anew, err := s.catchUp()
		switch {
		case err != nil:
			return outcome{}, err
		case s.finished(settled):
			return outcome{done: true}, s.end(ctx)
		case anew || s.stalled(settled):
			if !anew {
				s.log.Warn("a turn is not settled in time; starting a new epoch", "turn", s.opened)
				if settled != s.heldAfter {
					s.heldUp, s.heldAfter = 0, settled
				}
				s.heldUp++
			}
			if err := s.renew(ctx); err != nil || time.Since(began) > idleStep {
				return outcome{}, err
			}
			continue
		}
		out, err := s.open(settled)
		if err != nil || out.opened {
			return out, err
		}
		wrote, err := s.tellPassed(ctx, settled)
		if err != nil {
			return outcome{}, err
		}
		if wrote {
			if err := s.control.Update(ctx); err != nil {
				return outcome{}, err
			}
			continue
		}
		left := idleStep - time.Since(began)
		if s.opened > settled {
			left = openStep - time.Since(began)
		}
		if left <= 0 {
			return outcome{}, nil
		}
		if err := s.poll(ctx, settled, min(left, PollWait)); err != nil {
			return outcome{}, err
		}
	}
}

// tellPassed writes what this reader has passed: a CLOSE, or for the one that closes turns to see,
// a PASSED.
func (s *Source) tellPassed(ctx context.Context, settled uint64) (wrote bool, err error) {
	if s.opts.Group > 0 {
		return s.say(ctx, settled)
	}
	return s.closeTurns(ctx, settled)
}

// catchUp takes over what control says now; anew asks for a new epoch.
func (s *Source) catchUp() (settled uint64, anew bool, err error) {
	var stop *schemas.Stop
	epoch := s.epoch.Load()
	s.control.Look(func(v *controllog.View) {
		settled, stop = v.Settled, v.Stop
		s.closed = max(s.closed, v.Closed)
		joining, _ := v.Joining(s.run, -1)
		switch {
		case v.Run > s.run:
			err = deployment.ErrSuperseded
		case s.opts.Group > 0 && v.Replaced(s.run, uint32(s.opts.Group), s.reader):
			err = errReplaced
		case epoch < 0: // nothing is read outside of an epoch
			anew = true
		case s.opts.Group > 0:
			anew = v.Epoch != epoch
		case v.Epoch != epoch:
			err = errReplaced
		default:
			anew = v.Lost || joining
		}
	})
	if err == nil && stop != nil {
		err = controllog.Stopped(stop)
	}
	return settled, anew, err
}

// renew takes a new epoch, or takes part in that of group 0.
func (s *Source) renew(ctx context.Context) error {
	switch {
	case s.opts.Group > 0:
		return s.join(ctx)
	case s.assembling.IsZero():
		s.assembling = time.Now()
	}
	if !s.assembled() {
		return s.control.Await(ctx, openStep/4)
	}
	s.assembling = time.Time{}
	return s.start(ctx)
}

// finished says whether everything opened is settled and nothing more is to be
// opened: a drain, or the end of a bounded run. Group 0 finds out, the others are told by END.
func (s *Source) finished(settled uint64) bool {
	drained, ended := false, false
	s.control.Look(func(v *controllog.View) {
		drained, ended = v.Drained(s.run), v.Ended != nil && v.Run == s.run
	})
	if s.opts.Group > 0 || ended || s.epoch.Load() < 0 {
		return ended // an END counts in an epoch of this run only
	}
	if settled < s.opened {
		return false
	}
	switch {
	case drained:
		return settled >= s.underWay
	case s.opts.UntilEnd:
		all, owed := s.allAtEnd()
		return all && settled >= owed
	case !s.opts.Bounded && !s.opts.Until.IsZero():
		return settled >= s.owed
	}
	all, _ := s.allAtEnd()
	return s.lastKnown && settled >= s.last && all
}

// end writes the END of the run, once.
func (s *Source) end(ctx context.Context) error {
	e := &schemas.End{Epoch: s.epoch.Load()}
	ended := false
	s.control.Look(func(v *controllog.View) { e.Drained, ended = v.Drained(s.run), v.Ended != nil })
	if ended || s.opts.Group > 0 {
		return nil
	}
	e.Owed = s.owed
	if s.opts.UntilEnd {
		all := false
		if all, e.Owed = s.allAtEnd(); !all {
			e.Owed = schemas.OwedUnknown
		}
	}
	if _, err := s.writer.Append(ctx, e); err != nil {
		return err
	}
	return s.control.Update(ctx)
}

// pastEnds says whether everything was read that stood on the topic at the
// start.
func (s *Source) pastEnds() bool {
	for _, p := range s.partitions {
		if p.next < s.opts.Ends[p.id] {
			return false
		}
	}
	return true
}

// stalled says that the open turn takes too long: it is believed not to settle in this epoch.
// Group 0 sees to it. The limit doubles with every epoch that is given up for the same turn, so
// that a large turn, or one on a slow machine, settles in the end instead of being begun again
// for ever.
func (s *Source) stalled(settled uint64) bool {
	limit := s.opts.StallLimit
	if settled == s.heldAfter && limit < mostStall {
		if limit > mostStall>>s.heldUp { // a shift of limit might wrap around
			limit = mostStall
		} else {
			limit <<= s.heldUp
		}
	}
	return s.opts.Group == 0 && s.opened > settled && time.Since(s.openedAt) > limit
}

// open opens the span after the settled turn once control has its CLOSE and every
// partition was read up to its cut; in group 0, every group's. A tick in Beam's time is the number
// of the epoch and of the spans that were settled in it: the same for all groups, and later than
// any of an earlier epoch, because every EPOCH and SETTLED is a record of its own.
func (s *Source) open(settled uint64) (outcome, error) {
	turn := settled + 1
	if s.opened >= turn || s.closed < turn {
		return outcome{}, nil
	}
	var c *controllog.Closing
	settledAt, current := int64(-1), false
	out := outcome{opened: true}
	s.control.Look(func(v *controllog.View) {
		c = v.Closes[turn]
		if at, ok := v.SettledAt[settled]; ok {
			settledAt = at
		}
		current = v.Epoch == s.epoch.Load() && v.Settled == settled
		out.tick = v.Epoch + v.Spans
	})
	if !current {
		return outcome{}, nil // control has moved on meanwhile
	}
	if c == nil || c.First != turn {
		return outcome{}, fmt.Errorf("opening turn %d: control says that it is closed, and no CLOSE that begins with it was read: %w", turn, deployment.ErrLogFault)
	}
	open := schemas.Open{Epoch: s.epoch.Load(), First: c.First, Turn: c.Turn, Contributions: c.Contributions, SettledAt: settledAt, FromLedger: s.fromLedger == c.Turn,
		Group: uint32(s.opts.Group), Groups: uint32(s.opts.Groups)}
	if !open.FromLedger {
		if !s.readTo(c.Cuts) || s.opts.Group > 0 && s.said.turn < c.Turn {
			return outcome{}, nil
		}
		if all, err := s.agree(&c.Close); err != nil || !all {
			return outcome{}, err
		}
		if err := s.contributions(&out, open.Epoch, c); err != nil {
			return outcome{}, err
		}
	}
	for n := range s.dep.Config.Shards {
		open.Shard, open.Shards = uint32(n), uint32(s.dep.Config.Shards)
		out.elements = append(out.elements, transforms.Element{Shard: n, Data: schemas.EncodeOpen(open)})
	}
	for turn := c.First; turn <= c.Turn; turn++ {
		if b := s.buffers[turn]; b != nil {
			s.buffered -= b.Records
			delete(s.buffers, turn)
			s.spare.Put(b)
		}
	}
	s.opened, s.openedAt = c.Turn, time.Now()
	s.underWay = max(s.underWay, c.Turn)
	return out, nil
}

// contributions packs what this group has of a span's turns.
func (s *Source) contributions(out *outcome, epoch int64, c *controllog.Closing) error {
	for turn := c.First; turn <= c.Turn; turn++ {
		b := s.buffers[turn]
		if b == nil {
			continue
		}
		var err error
		if out.elements, err = b.Contributions(out.elements, epoch, turn); err != nil {
			return err
		}
	}
	return nil
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
