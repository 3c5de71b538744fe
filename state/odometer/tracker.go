package odometer

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// ErrStep is returned by a Tracker for a loss that is larger than a whole step:
// nothing was recorded, and the mechanism must not run under this tracker.
var ErrStep = errors.New("loss is larger than one step of the tracker")

// Tracker follows a run by filters of one budget Δ, one after the other (Feldman
// and Zrnic, 2021, Algorithm 5): a loss that no longer fits the filter at hand
// opens the next one and is charged there. For every m fixed in advance, what was
// released while Steps was at most m is an adaptive composition of m mechanisms
// of budget Δ each (Proposition 4.10).
//
// What a filter had left when it was replaced is lost, up to one step each; two
// successive filters have together taken more than Δ, so that Steps stays below
// 2·(sum of losses)/Δ + 1. GDPTotal, ZCDPTotal and RenyiTotal have the same claim
// without that waste.
//
// Not safe for concurrent use.
type Tracker[L any] struct {
	value[tracker[L], *tracker[L]]
}

type tracker[L any] struct {
	step    filter.Filter[L] // nothing is spent of it
	current filter.Filter[L] // nil before the first loss
	steps   uint64
}

var _ Odometer[loss.GDP, uint64] = (*Tracker[loss.GDP])(nil)

// NewTracker returns a tracker over filters of the budget of step, which itself is not
// used: one step is what that has as a budget, whatever was spent of it. The filter must
// be valid for adaptively chosen losses, as all of package filter are.
func NewTracker[L any](step filter.Filter[L]) *Tracker[L] {
	return &Tracker[L]{stored.New(tracker[L]{step: step.Fresh()})}
}

// Record adds l. It returns ErrStep if l does not fit a whole step, and the error
// of the filter, a *units.RangeError, if l is invalid; nothing is recorded then.
func (t *Tracker[L]) Record(l L) error {
	if err := stored.Of(&t.value).record(l); err != nil {
		return fmt.Errorf("recording a loss: %w", err)
	}
	return nil
}

func (t *tracker[L]) record(l L) error {
	if t.current != nil {
		if err := t.current.Spend(l); !errors.Is(err, filter.ErrExceeded) {
			return err
		}
	}
	next := t.step.Fresh()
	if err := next.Spend(l); errors.Is(err, filter.ErrExceeded) {
		return ErrStep
	} else if err != nil {
		return err
	}
	t.current = next
	t.steps++
	return nil
}

// Steps returns the number of filters opened so far, 0 before the first loss.
func (t *Tracker[L]) Steps() uint64 { return stored.Of(&t.value).steps }

// Bound returns Steps.
func (t *Tracker[L]) Bound() uint64 { return t.Steps() }

func (*tracker[L]) Kind() stored.Kind { return "odometer.Tracker" }

// Blank is a tracker of the same filters: what they are is not stored.
func (t *tracker[L]) Blank() (tracker[L], bool) { return tracker[L]{step: t.step}, t.step != nil }

// Layout names the fields at rest. The filter must have a MarshalBinary.
func (t *tracker[L]) Layout(c *stored.Codec) {
	own := c.State(t.step)
	step := own
	if c.Parameters.Bytes(&step); !bytes.Equal(step, own) {
		c.Check(false, "its steps have another budget than those of the tracker that it is read into")
	}
	t.progress(c)
}

func (t *tracker[L]) progress(c *stored.Codec) {
	c.Progress.Uint(&t.steps)
	if c.Failed() || t.steps == 0 {
		return
	}
	if c.Reading() {
		t.current = t.step.Fresh()
	}
	c.Progress.Value(t.current)
}
