package reading

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// Source implements transforms.Source as READ for one group of partitions. It reads events and
// control, decides every record's outcome, and emits the contributions to opened turns. The Source
// of group 0 starts epochs and closes turns. The Sources of other groups join its epochs
// (groups.go). A Source is safe for concurrent use, but only one Step runs at a time.
type Source struct {
	dep        *deployment.Deployment
	client     *kafkalog.Client
	control    *controllog.Log
	opts       Options
	log        *slog.Logger
	run        int64         // number of the run
	stalls     *watch.Stalls // may be nil
	classifier classifier
	hasher     *schemas.Hasher

	clock   *trustedTime
	writer  *controllog.Writer
	dead    *deadLetters
	fetcher *kafkalog.Fetcher

	callMu   sync.Mutex // guards calls and stopStep
	calls    int64
	stopStep context.CancelFunc
	stepMu   sync.Mutex // held by the running step

	epoch       atomic.Int64   // −1 outside an epoch; atomic, because beginStep reads it during a step
	reader      int64          // number of the reader, except in group 0
	epochRecord *schemas.Epoch // the newest EPOCH that this Source wrote, in group 0
	// assembling is when group 0 began to wait for the readers of other groups.
	assembling time.Time
	session
	// underWay is the last turn that a drain must finish. Either this run opened it, in any epoch,
	// or an earlier run left it with decisions on the ledger.
	underWay uint64
	// owed is the last turn that the run must settle. With UntilEnd, it is the last turn with an
	// event of this group that has been read below the ends.
	owed uint64
	// stalledEpochs is how many epochs were given up since the turn stalledAfter was settled.
	stalledEpochs int
	stalledAfter  uint64
	// answeredAt is when the last fetch with a response was sent, in Unix ms, by partition.
	answeredAt map[int32]int64
	users      *packing.Users
	spare      *packing.Pool
}

// session is the state of READ within one epoch.
type session struct {
	partitions   []*partition
	buffers      map[uint64]*packing.Buffer
	buffered     uint64
	unneeded     unneededTurns
	needed       uint64 // lastNeeded at the last poll
	noRecords    bool   // the topic has had no record, so no window is closed: see awaitFirstRecord
	opened       uint64 // last turn opened in this epoch, or settled before
	openedAt     time.Time
	fromLedger   uint64      // turn to be redone from the ledger; 0: none
	closed       uint64      // last turn closed on control, as far as control was read
	closeWritten uint64      // last turn of a CLOSE that this run wrote
	lastPassed   passedState // the newest PASSED, except in group 0
	tallies      schemas.ReadTallies
	last         uint64 // last turn of a bounded run, valid once lastKnown
	lastKnown    bool
	refreshed    time.Time
}

// Options configure READ. Fields without a comment are described in pipeline.RunOptions.
type Options struct {
	// Group is the number of this group, which reads every Groups-th partition, beginning with
	// partition Group. Groups 0 means 1.
	Group, Groups int
	// Crowded is set if the engine may run the steps of several groups one after another.
	Crowded  bool
	Bounded  bool
	Until    time.Time
	UntilEnd bool
	// Ends are the last stable offsets of the events topic when the run began, by partition.
	// Bounded and UntilEnd need them; the function Ends returns them.
	Ends       map[int32]int64
	StallLimit time.Duration // includes Outputs.PublishEvery; no default
	Strict     bool          // see checkSameOffsets
	Logger     *slog.Logger  // must not be nil
	Stalls     *watch.Stalls // receives READ's progress; may be nil
	Losses     *watch.Losses // receives the outcomes of records; may be nil
}

// check returns an error if a reader would end at once, never end, or leave out records.
func (o *Options) check() error {
	switch {
	case o.Group < 0 || o.Group >= o.Groups || o.Groups > schemas.MaxGroups:
		return fmt.Errorf("reading group %d of %d: this group does not exist", o.Group, o.Groups)
	case (o.Bounded || o.UntilEnd) && len(o.Ends) == 0:
		return errors.New("reading up to the ends of the events topic: Options.Ends is missing")
	case o.StallLimit <= 0:
		return fmt.Errorf("reading with a stall limit of %v: it must be positive", o.StallLimit)
	}
	return nil
}

// New returns READ for a run that was announced on control. The caller must close it.
func New(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, control *controllog.Log,
	opts Options) (*Source, error) {
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
		clock:  newTrustedTime(d.Config.Time.Skew, opts.Logger),
		hasher: schemas.NewHasher(d.Config.Keys.UserHash.Reveal()), reader: -1, spare: packing.NewPool(d.Config.Shards),
		classifier: classifier{decoder: decoder, filtered: allFiltered(d),
			turns: calendar.New(control.Header, d.Config.Privacy.Period), rules: timeRulesOf(d),
			past: pastTimeRulesOf(control.Header, timeRulesOf(d))},
	}
	s.users = packing.NewUsers(s.hasher, d.Config.Shards, knownUsersBytes)
	if !opts.Bounded && !opts.Until.IsZero() {
		s.owed = s.classifier.turns.LastEndedBy(opts.Until.UnixMilli())
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
	s.fetcher.Reuse = true // no memory of an event's record is kept after the poll
	return s, nil
}

// Step implements transforms.Source. If from is not the position that the last Step returned, the
// engine has restored an earlier state, and READ starts a new epoch.
func (s *Source) Step(ctx context.Context, from transforms.Restriction) (transforms.Step, error) {
	ctx, calls, expected := s.beginStep(ctx, from)
	s.stepMu.Lock()
	defer s.stepMu.Unlock()
	if ctx.Err() != nil {
		return transforms.Step{}, ctx.Err()
	}
	if !expected {
		if err := s.beginReading(ctx); err != nil {
			return s.endStep(from, err)
		}
	}
	step, err := s.advance(ctx)
	if err != nil {
		return s.endStep(from, err)
	}
	if !step.Opened {
		step.Next.Tick = from.Tick
	}
	step.Next.Group, step.Next.Calls = from.Group, calls
	step.Next.Epoch = s.epoch.Load() // advance may have started a new one
	return step, nil
}

// beginStep registers a call and interrupts a running one, because the engine has abandoned it.
// expected reports whether from is the position that the last call returned.
func (s *Source) beginStep(ctx context.Context, from transforms.Restriction) (context.Context, int64, bool) {
	s.callMu.Lock()
	defer s.callMu.Unlock()
	if s.stopStep != nil {
		s.stopStep()
	}
	expected := s.calls > 0 && from.Calls == s.calls && from.Epoch == s.epoch.Load()
	s.calls++
	ctx, s.stopStep = context.WithCancel(ctx)
	return ctx, s.calls, expected
}

// errReplaced means that another process of this run reads the group. Either the engine has
// abandoned this process, or it must restart the job.
var errReplaced = errors.New("another process of this run has started to read the same partitions")

// endStep ends reading: without an error if another run has superseded this one, or after a STOP.
func (s *Source) endStep(from transforms.Restriction, err error) (transforms.Step, error) {
	if errors.Is(err, deployment.ErrSuperseded) || errors.Is(err, deployment.ErrStopped) {
		from.Done = true
		return transforms.Step{Next: from}, nil
	}
	return transforms.Step{}, err
}

// advance reads and closes turns until it can open a turn, reading is over, or the step's time is
// up. In the Next of the step, it sets only Done and, if it opens a turn, Tick.
func (s *Source) advance(ctx context.Context) (transforms.Step, error) {
	openStep, idleStep := s.stepLimits()
	for began := time.Now(); ; {
		settled, needsEpoch, err := s.catchUp()
		switch {
		case err != nil:
			return transforms.Step{}, err
		case s.finished(settled):
			return transforms.Step{Next: transforms.Restriction{Done: true}}, s.end(ctx)
		case needsEpoch || s.settleOverdue(settled):
			if !needsEpoch {
				s.log.Warn("a turn has not settled in time: starting a new epoch", "turn", s.opened)
				if settled != s.stalledAfter {
					s.stalledEpochs, s.stalledAfter = 0, settled
				}
				s.stalledEpochs++
			}
			if err := s.renew(ctx); err != nil || time.Since(began) > idleStep {
				return transforms.Step{}, err
			}
			continue
		}
		step, err := s.open(settled)
		if err != nil || step.Opened {
			return step, err
		}
		wrote, err := s.writeCloseOrPassed(ctx, settled)
		if err != nil {
			return transforms.Step{}, err
		}
		if wrote {
			if err := s.control.Update(ctx); err != nil {
				return transforms.Step{}, err
			}
			continue
		}
		remaining := idleStep - time.Since(began)
		if s.opened > settled {
			remaining = openStep - time.Since(began)
		}
		if remaining <= 0 {
			return transforms.Step{}, nil
		}
		if err := s.poll(ctx, settled, min(remaining, PollWait)); err != nil {
			return transforms.Step{}, err
		}
	}
}

// append writes to control, and tells the clock the append time.
func (s *Source) append(ctx context.Context, bodies ...schemas.ControlBody) ([]int64, error) {
	_, before := s.clock.read()
	offsets, err := s.writer.Append(ctx, bodies...)
	if err == nil {
		_, after := s.clock.read()
		s.clock.setBroker(s.writer.AppendTime(), after-before)
	}
	return offsets, err
}

// writeCloseOrPassed writes which turns this reader has passed: as CLOSEs in group 0, and as a
// PASSED in other groups.
func (s *Source) writeCloseOrPassed(ctx context.Context, settled uint64) (wrote bool, err error) {
	if s.opts.Group > 0 {
		return s.writePassed(ctx, settled)
	}
	return s.closeTurns(ctx, settled)
}

// catchUp copies the state of control. needsEpoch: READ must start or join a new epoch.
func (s *Source) catchUp() (settled uint64, needsEpoch bool, err error) {
	var stop *schemas.Stop
	epoch := s.epoch.Load()
	s.control.WithView(func(v *controllog.View) {
		settled, stop = v.Settled, v.Stop
		s.closed = max(s.closed, v.Closed)
		joining, _ := v.Joining(s.run, -1)
		switch {
		case v.Run > s.run:
			err = deployment.ErrSuperseded
		case s.opts.Group > 0 && v.Replaced(s.run, uint32(s.opts.Group), s.reader):
			err = errReplaced
		case epoch < 0: // READ is outside an epoch
			needsEpoch = true
		case s.opts.Group > 0:
			needsEpoch = v.Epoch != epoch
		case v.Epoch != epoch:
			err = errReplaced
		default:
			needsEpoch = v.Lost || joining
		}
	})
	if err == nil && stop != nil {
		err = controllog.Stopped(stop)
	}
	return settled, needsEpoch, err
}

// renew starts a new epoch in group 0, and joins the epoch of group 0 in other groups.
func (s *Source) renew(ctx context.Context) error {
	switch {
	case s.opts.Group > 0:
		return s.join(ctx)
	case s.assembling.IsZero():
		s.assembling = time.Now()
	}
	if !s.readersAssembled() {
		return s.control.Await(ctx, openStep/4)
	}
	s.assembling = time.Time{}
	return s.start(ctx)
}

// Close closes the connections of the Source, but not the client.
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
