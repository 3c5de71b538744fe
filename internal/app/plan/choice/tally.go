package choice

import (
	"math"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Real is the truth of a cell: the amount to count, the value, and the scale of its errors.
type Real struct{ Size, Value, Scale float64 }

// Tally computes the true values of cells from their events.
type Tally[K comparable] struct {
	kind   metrickind.Kind
	cells  map[K]*[metrickind.MaxComponents]float64 // sums of the powers of values
	users  map[userOf[K]]struct{}                   // of kinds that count a user once
	values map[int64]uint64
}

type userOf[K comparable] struct {
	at   K
	user string
}

// NewTally returns a tally without events for values of a kind.
func NewTally[K comparable](kind metrickind.Kind) *Tally[K] {
	return &Tally[K]{kind: kind, cells: map[K]*[metrickind.MaxComponents]float64{}, users: map[userOf[K]]struct{}{},
		values: map[int64]uint64{}}
}

// Add adds an event to a cell.
func (t *Tally[K]) Add(at K, user string, value int64) {
	of := t.cells[at]
	if of == nil {
		of = new([metrickind.MaxComponents]float64)
		t.cells[at] = of
	}
	if t.kind.OncePerUser {
		if _, seen := t.users[userOf[K]{at, user}]; seen {
			return
		}
		t.users[userOf[K]{at, user}] = struct{}{}
	}
	if t.kind.Sums() {
		of[0] += float64(value)
		return
	}
	power := 1.0
	for i := range of {
		of[i] += power
		power *= float64(value)
	}
	if t.kind.Vector != nil {
		t.values[coarse(value)]++
	}
}

// Len returns how many cells have an event.
func (t *Tally[K]) Len() int { return len(t.cells) }

// Real returns what each cell has.
func (t *Tally[K]) Real() map[K]Real {
	out, spread := make(map[K]Real, len(t.cells)), spreadOf(t.values)
	for at, of := range t.cells {
		size := math.Abs(of[0])
		out[at] = Real{Size: size, Value: of[0], Scale: size}
		if v := t.kind.Vector; v != nil {
			value := v.Truth(*of)
			scale := spread
			scale.low, scale.high = v.Span(spread.low, spread.high)
			out[at] = Real{Size: size, Value: value, Scale: scale.scale(value)}
		}
	}
	return out
}

// TypicalError returns Outcome.Typical for released values, compared with the real ones. The error
// of a cell without a value counts as 1. cells is the number of cells that hold half of the amount.
func TypicalError[K comparable](real map[K]Real, values map[K]float64) (typical float64, cells int) {
	var sizes, errors []float64
	for _, of := range real {
		sizes = append(sizes, of.Size)
	}
	half := LeastOfHalf(sizes)
	for at, of := range real {
		if of.Size < half {
			continue
		}
		e := 1.0
		if v, released := values[at]; released {
			e = math.Abs(v-of.Value) / of.Scale
		}
		errors = append(errors, e)
	}
	return Median(errors), len(errors)
}
