// Package handout hands what a deployment publishes to a function that may be slow, in one
// goroutine. The counts topic is the queue: the run that publishes never waits for the function.
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

// Options say what is followed, and which function takes it.
type Options struct {
	// Follow hands out what is published, as pipeline.FollowReleases does: from the same position
	// at each call.
	Follow func(context.Context, func(pipeline.Published) error) error
	// Take takes turns in order, each value once. Its error ends the handing out.
	Take func(pipeline.Published) error
	// OnUnread, if given, is called when Follow fails. Follow is then called again, after pauses
	// that grow from Pause to a minute, and begin again once something was taken. Without OnUnread,
	// an error of Follow ends the handing out.
	OnUnread func(error)
	Pause    time.Duration
	// OnError is called with the error that ends the handing out.
	OnError func(error)
}

// ErrNotTaken is returned by Wait if Take does not return.
var ErrNotTaken = errors.New("handing out releases: the output is not read; is something reading stdout?")

// hurried is how long Wait and Leave wait for a call of Take when there is a hurry; a Wait in a
// hurry takes ten times as long at most.
const hurried = 3 * time.Second

// Handout is a handing out that goes on. Its methods are for the goroutine that started it, except
// for Moved.
type Handout struct {
	done   atomic.Uint64 // the last turn that was taken
	moved  atomic.Int64  // when Take last got on, in Unix nanoseconds
	unread atomic.Pointer[error]
	ended  chan struct{}
	err    error // set before ended is closed
	hangs  bool  // Wait has given up on Take
}

// New returns a Handout of the turns after the given one. Start begins it.
func New(after uint64) *Handout {
	h := &Handout{ended: make(chan struct{})}
	h.done.Store(after)
	return h
}

// Start begins, once, to hand out, until ctx ends.
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
			if refused = o.Take(p); refused != nil {
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

// Moved notes that Take gets on: Wait waits for its limit anew.
func (h *Handout) Moved() { h.moved.Store(time.Now().UnixNano()) }

// Wait waits until a turn is taken. It returns the error that ended the handing out before that, or
// ErrNotTaken if Take does not get on within limit (0: no limit), once hurry is closed within some
// seconds.
func (h *Handout) Wait(turn uint64, limit time.Duration, hurry <-chan struct{}) error {
	h.Moved()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var over time.Time
	for h.done.Load() < turn {
		select {
		case <-h.ended:
			if h.done.Load() >= turn {
				return nil
			}
			return cmp.Or(h.err, ErrNotTaken)
		case <-hurry:
			h.Moved()
			hurry, limit, over = nil, hurried, time.Now().Add(10*hurried)
		case now := <-tick.C:
			stuck := limit > 0 && now.UnixNano()-h.moved.Load() >= limit.Nanoseconds()
			if h.hangs = stuck || !over.IsZero() && now.After(over); h.hangs {
				return ErrNotTaken
			}
		}
	}
	return nil
}

// Err returns the error that ended the handing out; nil while it goes on.
func (h *Handout) Err() error {
	select {
	case <-h.ended:
		return h.err
	default:
		return nil
	}
}

// Unread returns why the topics cannot be read at the moment; nil if they can.
func (h *Handout) Unread() error {
	if err := h.unread.Load(); err != nil {
		return *err
	}
	return nil
}

// Leave waits until the handing out has ended, but not for a call of Take that hangs.
func (h *Handout) Leave() {
	if h.hangs {
		return
	}
	select {
	case <-h.ended:
	case <-time.After(hurried):
	}
}
