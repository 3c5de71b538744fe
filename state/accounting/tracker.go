package accounting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// ErrStep means that a loss is larger than a full step of a Tracker. Nothing was recorded, and the
// mechanism must not run under this tracker.
var ErrStep = errors.New("loss is larger than one step of the tracker")

// Tracker measures a run by a sequence of filters with equal budgets Δ (Feldman and Zrnic,
// Algorithm 5). A loss that does not fit into the current filter opens the next filter and is
// charged there. For every m that is fixed in advance, the releases made while Steps was at most m
// are an adaptive composition of m mechanisms with budget Δ each (Proposition 4.10).
//
// The rest of a replaced filter's budget is lost. Two successive filters together spend more than
// Δ, so Steps stays below 2·(sum of losses)/Δ + 1. Totals make the same claim without this waste.
type Tracker[L any] struct {
	accounts.NoJSON
	current *Filter[L] // empty before the first loss
	steps   uint64
}

// NewTracker returns a tracker whose filters have the budget of step. step itself is not used.
func NewTracker[L any](step *Filter[L]) *Tracker[L] { return &Tracker[L]{current: step.Fresh()} }

// Record adds l. The error is ErrStep if l is larger than a full step, or a *units.RangeError. If
// there is an error, nothing has been recorded.
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

// Steps returns the number of filters that have been opened, which is 0 before the first loss.
func (t *Tracker[L]) Steps() uint64 { return t.steps }

func (t *Tracker[L]) header() header {
	return header{"tracker", append([]byte{formatVersion, 't'}, t.current.rule.bytes...)}
}

// MarshalBinary returns the budget of a step, the number of steps, and the amount spent in the last
// step; see the package comment.
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
