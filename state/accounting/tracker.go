package accounting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// ErrStep is returned by a Tracker for a loss that is larger than a whole step: nothing was
// recorded, and the mechanism must not run under this tracker.
var ErrStep = errors.New("loss is larger than one step of the tracker")

// Tracker measures a run with filters of equal budget Δ, one after the other (Feldman and Zrnic,
// Algorithm 5): a loss that no longer fits the current filter opens the next one and is charged
// there. For every m fixed in advance, the releases made while Steps was at most m are an adaptive
// composition of m mechanisms with budget Δ each (Proposition 4.10).
//
// The rest of a replaced filter is lost, up to one step each; two successive filters together spend
// more than Δ, so that Steps stays below 2·(sum of losses)/Δ + 1. Totals make the same claim
// without that waste.
type Tracker[L any] struct {
	accounts.NoJSON
	current *Filter[L] // empty before the first loss
	steps   uint64
}

// NewTracker returns a tracker over filters with the budget of step, which itself is left unused.
func NewTracker[L any](step *Filter[L]) *Tracker[L] { return &Tracker[L]{current: step.Fresh()} }

// Record adds l. The error is ErrStep if l does not fit a whole step, or a *units.RangeError;
// nothing is then recorded.
func (t *Tracker[L]) Record(l L) error {
	next := t.current
	if t.steps > 0 {
		if err := next.Spend(l); err == nil {
			return nil
		}
		next = next.Fresh()
	}
	switch err := next.Spend(l); {
	case errors.Is(err, ErrExceeded):
		return ErrStep
	case err != nil:
		return fmt.Errorf("recording a loss: %w", err)
	}
	t.current = next
	t.steps++
	return nil
}

// Steps returns the number of filters opened so far, 0 before the first loss.
func (t *Tracker[L]) Steps() uint64 { return t.steps }

func (t *Tracker[L]) header() header {
	return header{"tracker", append([]byte{formatVersion, 't'}, t.current.rule.bytes...)}
}

// MarshalBinary returns the budget of a step, the number of steps and the amount spent of the last;
// see the package comment.
func (t *Tracker[L]) MarshalBinary() ([]byte, error) {
	b := binary.BigEndian.AppendUint64(slices.Clone(t.header().bytes), t.steps)
	return appendAmounts(b, t.current.amounts()...), nil
}

// UnmarshalBinary resumes a stored state; see the package comment.
func (t *Tracker[L]) UnmarshalBinary(data []byte) error {
	h := t.header()
	rest, err := h.cut(data)
	switch {
	case err != nil:
		return err
	case t.steps > 0:
		return h.errUsed()
	case len(rest) < 8:
		return h.refuse("it is truncated")
	}
	meters, err := t.current.resumed(rest[8:])
	if err == nil {
		t.steps, t.current.meters = binary.BigEndian.Uint64(rest), meters
	}
	return err
}
