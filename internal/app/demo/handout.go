package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// drainLimit is how long the end of a run that was drained waits for a turn to be
// taken.
const drainLimit = 3 * time.Second

// errNotTaken says that releases are not read.
var errNotTaken = errors.New("handing out releases: the output is not read; is something reading stdout?")

// handingOut hands the turns on the counts topic to Options.OnTurn. The topic is the queue: the
// run goes on while OnTurn does.
type handingOut struct {
	turns chan uint64 // turns that were handed out; the newest only
	ended chan struct{}
	err   error // set before ended is closed
	hangs bool  // wait has given up on a call of OnTurn
}

// handOut begins to follow the counts topic; halt is called at the first error.
func handOut(ctx context.Context, d *pipeline.Deployment, onTurn func(Turn) error, halt func()) *handingOut {
	h := &handingOut{turns: make(chan uint64, 1), ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		var refused error
		err := pipeline.FollowReleases(ctx, d, pipeline.FollowOptions{From: &pipeline.Position{}},
			func(p pipeline.Published) error {
				if onTurn != nil {
					if refused = onTurn(Turn{Number: p.Turn, End: p.End, Releases: p.Releases}); refused != nil {
						return refused
					}
				}
				select {
				case <-h.turns:
				default:
				}
				h.turns <- p.Turn
				return nil
			})
		switch {
		case refused != nil:
			h.err = refused
		case err != nil:
			h.err = fmt.Errorf("following releases: %w", err)
		}
		if h.err != nil {
			halt()
		}
	}()
	return h
}

// wait returns when a turn was handed out, or the error that prevented it.
func (h *handingOut) wait(turn uint64, drain <-chan struct{}) error {
	var late <-chan time.Time
	for last := uint64(0); last < turn; {
		select {
		case last = <-h.turns:
			if late != nil {
				late = time.After(drainLimit)
			}
		case <-h.ended:
			if h.err != nil {
				return h.err
			}
			return errNotTaken
		case <-drain:
			drain, late = nil, time.After(drainLimit)
		case <-late:
			h.hangs = true
			return errNotTaken
		}
	}
	return nil
}

// failure returns the error that ended the handing out, if there was one.
func (h *handingOut) failure() error {
	select {
	case <-h.ended:
		return h.err
	default:
		return nil
	}
}

// leave waits until the handing out has ended, but not for a call that hangs.
func (h *handingOut) leave() {
	if h.hangs {
		return
	}
	select {
	case <-h.ended:
	case <-time.After(drainLimit):
	}
}
