package choice

import (
	"math"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Real holds the true amount and value of a cell, and the scale of the value's errors.
type Real struct{ Size, Value, Scale float64 }

// Tally computes the true values of cells from their events.
type Tally[K comparable] struct {
	kind   metrickind.Kind
	cells  map[K]*[metrickind.MaxComponents]float64 // sums of the powers of values
	users  map[cellUser[K]]struct{}                 // counted users, for kinds that count a user once
	values map[int64]uint64                         // number of events by coarse value, for kinds with a Vector
}

type cellUser[K comparable] struct {
	cell K
	user string
}

// NewTally returns an empty tally for a kind.
func NewTally[K comparable](kind metrickind.Kind) *Tally[K] {
	return &Tally[K]{kind: kind, cells: map[K]*[metrickind.MaxComponents]float64{}, users: map[cellUser[K]]struct{}{},
		values: map[int64]uint64{}}
}

// Add adds an event to a cell.
func (t *Tally[K]) Add(cell K, user string, value int64) {
	powers := t.cells[cell]
	if powers == nil {
		powers = new([metrickind.MaxComponents]float64)
		t.cells[cell] = powers
	}
	if t.kind.OncePerUser {
		if _, known := t.users[cellUser[K]{cell, user}]; known {
			return
		}
		t.users[cellUser[K]{cell, user}] = struct{}{}
	}
	if t.kind.Sums() {
		powers[0] += float64(value)
		return
	}
	power := 1.0
	for i := range powers {
		powers[i] += power
		power *= float64(value)
	}
	if t.kind.Vector != nil {
		t.values[coarse(value)]++
	}
}

// Len returns the number of cells with events.
func (t *Tally[K]) Len() int { return len(t.cells) }

// Real returns the true values of all cells.
func (t *Tally[K]) Real() map[K]Real {
	out, spread := make(map[K]Real, len(t.cells)), spreadOf(t.values)
	for cell, powers := range t.cells {
		size := math.Abs(powers[0])
		out[cell] = Real{Size: size, Value: powers[0], Scale: size}
		if v := t.kind.Vector; v != nil {
			value := v.Truth(*powers)
			scale := spread
			scale.low, scale.high = v.Span(spread.low, spread.high)
			out[cell] = Real{Size: size, Value: value, Scale: scale.scale(value)}
		}
	}
	return out
}

// TypicalError computes Outcome.Typical for released values. cells is the number of the largest
// cells that together hold half of the amount.
func TypicalError[K comparable](real map[K]Real, values map[K]float64) (typical float64, cells int) {
	var sizes, errors []float64
	for _, r := range real {
		sizes = append(sizes, r.Size)
	}
	half := LeastOfHalf(sizes)
	for cell, r := range real {
		if r.Size < half {
			continue
		}
		e := 1.0
		if v, released := values[cell]; released {
			e = math.Abs(v-r.Value) / r.Scale
		}
		errors = append(errors, e)
	}
	return Median(errors), len(errors)
}
