package forecast

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Real is what a cell really has: how much there is to count, its value, and what an error of the
// value is compared with.
type Real struct{ Size, Value, Scale float64 }

// Tally adds up what cells really have, from their events.
type Tally[K comparable] struct {
	kind   metrickind.Kind
	cells  map[K]amount
	users  map[userOf[K]]struct{} // of kinds that count a user once
	values map[float32]uint32     // of kinds of several components
}

type userOf[K comparable] struct {
	at   K
	user string
}

// NewTally returns a tally without events for values of a kind.
func NewTally[K comparable](kind metrickind.Kind) *Tally[K] {
	return &Tally[K]{kind: kind, cells: map[K]amount{}, users: map[userOf[K]]struct{}{}, values: map[float32]uint32{}}
}

// Add adds an event to a cell.
func (t *Tally[K]) Add(at K, user string, value int64) {
	of := t.cells[at]
	switch {
	case t.kind.Vector != nil:
		of.add(powers(1, float64(value)), 1)
		t.values[float32(value)]++
	case t.kind.Sums():
		of[0] += float64(value)
	case t.kind.OncePerUser:
		if _, seen := t.users[userOf[K]{at, user}]; seen {
			return
		}
		t.users[userOf[K]{at, user}] = struct{}{}
		of[0]++
	default:
		of[0]++
	}
	t.cells[at] = of
}

// Len returns how many cells have an event.
func (t *Tally[K]) Len() int { return len(t.cells) }

// Real returns what each cell has.
func (t *Tally[K]) Real() map[K]Real {
	out, spread := make(map[K]Real, len(t.cells)), t.spread()
	for at, of := range t.cells {
		size := math.Abs(of[0])
		out[at] = Real{Size: size, Value: of[0], Scale: size}
		if t.kind.Vector != nil {
			value := t.kind.Vector.Truth(of.sums())
			out[at] = Real{Size: size, Value: value, Scale: spread.of(t.kind).scale(value)}
		}
	}
	return out
}

func (t *Tally[K]) spread() spread {
	cells := make([]sample.Cell, 0, len(t.values))
	for v, n := range t.values {
		cells = append(cells, sample.Cell{Events: n, Value: v})
	}
	return spreadOf(cells)
}
