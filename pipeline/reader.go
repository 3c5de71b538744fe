package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms"
)

const (
	// lookahead is how many turns behind the settled one are read ahead: by
	// event time, so that a partition that runs ahead waits for the others.
	lookahead = 32
	// closeAhead is how many CLOSEs may stand ahead of settlement.
	closeAhead = 16
	// maxBuffered bounds the events read ahead; the partition that holds the
	// turn back is read all the same.
	maxBuffered = 1 << 20
	pollWait    = 250 * time.Millisecond
	fetchBytes  = 1 << 20
	maxKnownIDs = 1 << 18
)

// reader is READ: it takes the epoch, reads events and control, decides every
// record's fate, closes turns and opens them. It implements transforms.Source.
type reader struct {
	dep    *Deployment
	client *klog.Client
	tail   *tail
	opts   RunOptions
	log    *slog.Logger
	runID  [16]byte
	fates  fates
	hasher *schemas.Hasher

	control *controlWriter
	dead    *deadLetters
	fetcher *klog.Fetcher

	callMu sync.Mutex // guards calls and interrupt
	calls  int64
	stopIt context.CancelFunc
	step   sync.Mutex // held by the one step that runs

	epoch atomic.Int64 // begin looks at it while a step runs
	lost  atomic.Int64 // the epoch in which a stage found another writer in its place, else −1
	session
	// ends are the bounded run's last offsets, taken at the first start.
	ends map[int32]int64
	ids  map[string]state.AccountID

	superseded, drained bool
}

// session is what a reader knows within one epoch.
type session struct {
	partitions []*partition
	buffers    map[uint64]*buffer
	buffered   uint64
	opened     uint64 // the last turn opened in this epoch, or settled before
	openedAt   time.Time
	fromLedger uint64 // the turn to be redone from the ledger; 0 none
	closed     uint64 // the last turn closed on control, as far as it is known here
	asked      uint64 // the last turn this run has written a CLOSE for
	tallies    schemas.ReadTallies
	last       uint64 // bounded runs: the last turn, once lastKnown
	lastKnown  bool
	refreshed  time.Time
}

// Step implements transforms.Source. A position that is not the reader's own
// is a restore by the engine: the reader takes a new epoch.
func (r *reader) Step(ctx context.Context, at transforms.Position) (transforms.Step, error) {
	ctx, calls, own := r.begin(ctx, at)
	r.step.Lock()
	defer r.step.Unlock()
	if ctx.Err() != nil {
		return transforms.Step{}, ctx.Err()
	}
	if !own {
		if err := r.start(ctx); err != nil {
			return r.leave(at, err)
		}
	}
	next := transforms.Position{Calls: calls, Tick: at.Tick}
	elements, done, err := r.advance(ctx)
	if err != nil {
		return r.leave(at, err)
	}
	next.Epoch = r.epoch.Load() // a stalled turn takes a new one
	next.Done = done
	if len(elements) > 0 {
		next.Tick++
	}
	return transforms.Step{Next: next, Elements: elements, Opened: len(elements) > 0}, nil
}

// begin counts a call at its start and interrupts one that an engine has given
// up but that still runs.
func (r *reader) begin(ctx context.Context, at transforms.Position) (context.Context, int64, bool) {
	r.callMu.Lock()
	defer r.callMu.Unlock()
	if r.stopIt != nil {
		r.stopIt()
	}
	own := r.calls > 0 && at.Calls == r.calls && at.Epoch == r.epoch.Load()
	r.calls++
	ctx, r.stopIt = context.WithCancel(ctx)
	return ctx, r.calls, own
}

// leave ends reading when another run has taken over.
func (r *reader) leave(at transforms.Position, err error) (transforms.Step, error) {
	if err == errSuperseded { //nolint:errorlint // never wrapped: it is this package's own answer
		r.superseded = true
		at.Done = true
		return transforms.Step{Next: at}, nil
	}
	return transforms.Step{}, err
}

// advance goes on until a turn can be opened or reading is over.
func (r *reader) advance(ctx context.Context) ([]transforms.Element, bool, error) {
	for {
		settled, err := r.catchUp()
		if err != nil {
			return nil, false, err
		}
		if r.finished(settled) {
			return nil, true, nil
		}
		if r.stalled(settled) {
			r.log.Warn("a turn is held up; taking a new epoch", "turn", r.opened)
			if err := r.start(ctx); err != nil {
				return nil, false, err
			}
			continue
		}
		elements, err := r.open(settled)
		if err != nil || elements != nil {
			return elements, false, err
		}
		wrote, err := r.closeTurns(ctx, settled)
		if err != nil {
			return nil, false, err
		}
		if wrote {
			if err := r.tail.update(ctx); err != nil {
				return nil, false, err
			}
			continue
		}
		if err := r.poll(ctx, settled); err != nil {
			return nil, false, err
		}
	}
}

// catchUp takes over what control says now.
func (r *reader) catchUp() (settled uint64, err error) {
	var newest int64
	var stop *schemas.Stop
	r.tail.look(func(v *view) {
		newest, settled, stop = v.epoch, v.settled, v.stop
		r.closed = max(r.closed, v.closed)
	})
	if newest != r.epoch.Load() {
		return 0, errSuperseded
	}
	if stop != nil {
		return 0, stopped(stop)
	}
	return settled, nil
}

func stopped(s *schemas.Stop) error {
	return fmt.Errorf("%w at turn %d: %s; look into it, then run recover", ErrStopped, s.Turn, s.Reason)
}

// finished says whether everything opened is settled and nothing more is to be
// opened: a drain, or the end of a bounded run.
func (r *reader) finished(settled uint64) bool {
	if settled < r.opened {
		return false
	}
	select {
	case <-r.opts.Drain:
		r.drained = true
		return true
	default:
	}
	return r.lastKnown && settled >= r.last && r.atEnd()
}

// stalled says that the open turn will not settle: it takes too long, or a
// stage found another writer in its place. If that writer belongs to a newer
// run, start finds out.
func (r *reader) stalled(settled uint64) bool {
	lost := r.lost.Swap(-1) == r.epoch.Load()
	return r.opened > settled && (lost || time.Since(r.openedAt) > r.opts.StallLimit)
}

// open opens the turn behind the settled one once its CLOSE stands and every
// partition was read up to its cut.
func (r *reader) open(settled uint64) ([]transforms.Element, error) {
	turn := settled + 1
	if r.opened >= turn || r.closed < turn {
		return nil, nil
	}
	var c *closing
	settledAt := int64(-1)
	r.tail.look(func(v *view) {
		c = v.closes[turn]
		if at, ok := v.settledAt[settled]; ok {
			settledAt = at
		}
	})
	if c == nil {
		return nil, fmt.Errorf("opening turn %d: control says that it is closed, and its CLOSE was not read: %w", turn, ErrLogFault)
	}
	open := schemas.Open{Epoch: r.epoch.Load(), Turn: turn, Contributions: c.Contributions, SettledAt: settledAt, FromLedger: r.fromLedger == turn}
	b := r.buffers[turn]
	if open.FromLedger || b == nil {
		b = newBuffer(r.dep.cfg.Shards)
	}
	if !open.FromLedger {
		if !r.readTo(c.Cuts) {
			return nil, nil
		}
		if b.records != c.Contributions {
			return nil, fmt.Errorf("opening turn %d: the events topic gives another number of contributions than its CLOSE says: records were changed or lost, or the configuration was changed: %w", turn, ErrLogFault)
		}
	}
	elements, err := b.elements(open)
	if err != nil {
		return nil, err
	}
	r.buffered -= b.records
	delete(r.buffers, turn)
	r.opened, r.openedAt = turn, time.Now()
	return elements, nil
}

// readTo says whether every partition was read up to a CLOSE's cuts.
func (r *reader) readTo(cuts []schemas.Cut) bool {
	for _, c := range cuts {
		for _, p := range r.partitions {
			if p.id == c.Partition && p.next < c.Cut {
				return false
			}
		}
	}
	return true
}

func (r *reader) atEnd() bool {
	for _, p := range r.partitions {
		if !p.done() {
			return false
		}
	}
	return true
}

// account is a user's account id; hashing every record would cost more than
// the rest of its way.
func (r *reader) account(user []byte) state.AccountID {
	if id, ok := r.ids[string(user)]; ok {
		return id
	}
	if len(r.ids) >= maxKnownIDs {
		clear(r.ids)
	}
	id := r.hasher.Account(user)
	r.ids[string(user)] = id
	return id
}

func (r *reader) close() {
	if r.fetcher != nil {
		r.fetcher.Close()
	}
	if r.control != nil {
		r.control.close()
	}
	if r.dead != nil {
		r.dead.close()
	}
}
