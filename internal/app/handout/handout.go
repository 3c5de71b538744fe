// Package handout passes the releases of a deployment to a function that may be slow. It calls the
// function in a goroutine of its own. The counts topic is the queue, so a run never waits.
package handout

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Options configures a Handout.
type Options struct {
	// Follow calls a function with each turn, like pipeline.FollowReleases. Every call of Follow
	// begins at the same position.
	Follow func(context.Context, func(pipeline.Published) error) error
	// OnTurn is called with the turns in order, each value once. Its error ends the Handout.
	OnTurn func(pipeline.Published) error
	// OnUnread, if set, is called when Follow fails. Follow is then repeated after a pause. Pauses
	// grow from Pause to a minute; a turn that OnTurn has handled resets them. Without OnUnread, an
	// error of Follow ends the Handout.
	OnUnread func(error)
	Pause    time.Duration
	// OnError, if set, is called with the error that ends the Handout.
	OnError func(error)
}

// ErrOutputStalled is returned by Wait if OnTurn does not return.
var ErrOutputStalled = errors.New("handing out releases: the output is not read; is something reading stdout?")

// hurried is the time that Wait and Leave allow for one call of OnTurn if the process is in a
// hurry. A hurried Wait takes at most ten times as long in total.
const hurried = 3 * time.Second

// Handout passes on releases. Only the goroutine that started it may call methods other than Moved.
type Handout struct {
	done   atomic.Uint64         // last turn that OnTurn has handled
	moved  atomic.Int64          // time of the last progress of OnTurn, in Unix nanoseconds
	unread atomic.Pointer[error] // Follow's current error; nil if it is not failing
	ended  chan struct{}
	err    error // set before ended is closed
	hangs  bool  // whether Wait returned because OnTurn made no progress
}

// New returns a Handout for the turns after the given one.
func New(after uint64) *Handout {
	h := &Handout{ended: make(chan struct{})}
	h.done.Store(after)
	return h
}

// Start starts the Handout, which ends with ctx. Call it once.
func (h *Handout) Start(ctx context.Context, o Options) {
	go func() {
		defer close(h.ended)
		if h.err = h.run(ctx, o); h.err != nil && o.OnError != nil {
			o.OnError(h.err)
		}
	}()
}

func (h *Handout) run(ctx context.Context, o Options) error {
	for pause := o.Pause; ; pause = min(2*pause, time.Minute) {
		var refused error
		err := o.Follow(ctx, func(p pipeline.Published) error {
			done := h.done.Load()
			if p.Turn <= done {
				return nil
			}
			// The values of a turn whose end is missing come with the next turn.
			p.Releases = slices.DeleteFunc(slices.Clone(p.Releases),
				func(r schemas.Release) bool { return r.Turn <= done })
			if refused = o.OnTurn(p); refused != nil {
				return refused
			}
			h.done.Store(p.Turn)
			h.Moved()
			h.unread.Store(nil)
			return nil
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case refused != nil || err == nil || o.OnUnread == nil:
			return cmp.Or(refused, err)
		}
		if h.unread.Swap(&err) == nil {
			pause = o.Pause
			o.OnUnread(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// Moved records that OnTurn has made progress. It restarts the limit of Wait.
func (h *Handout) Moved() { h.moved.Store(time.Now().UnixNano()) }

// Wait waits until OnTurn has handled a turn. If the Handout ends before that, Wait returns the
// error that ended it. If OnTurn makes no progress within limit, it returns ErrOutputStalled. A
// limit of 0 is no limit. Closing hurry shortens the limit to a few seconds.
func (h *Handout) Wait(turn uint64, limit time.Duration, hurry <-chan struct{}) error {
	h.Moved()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var deadline time.Time
	for h.done.Load() < turn {
		select {
		case <-h.ended:
			if h.done.Load() >= turn {
				return nil
			}
			return cmp.Or(h.err, ErrOutputStalled)
		case <-hurry:
			h.Moved()
			hurry, limit, deadline = nil, hurried, time.Now().Add(10*hurried)
		case now := <-tick.C:
			stuck := limit > 0 && now.UnixNano()-h.moved.Load() >= limit.Nanoseconds()
			if h.hangs = stuck || !deadline.IsZero() && now.After(deadline); h.hangs {
				return ErrOutputStalled
			}
		}
	}
	return nil
}

// Err returns the error that ended the Handout, or nil while it runs.
func (h *Handout) Err() error {
	select {
	case <-h.ended:
		return h.err
	default:
		return nil
	}
}

// Unread returns Follow's current error, or nil if it is not failing.
func (h *Handout) Unread() error {
	if err := h.unread.Load(); err != nil {
		return *err
	}
	return nil
}

// Leave waits a few seconds for the end of the Handout. It does not wait if OnTurn hangs.
func (h *Handout) Leave() {
	if h.hangs {
		return
	}
	select {
	case <-h.ended:
	case <-time.After(hurried):
	}
}
