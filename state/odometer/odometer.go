package odometer

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
)

// Odometer adds up losses of kind L and states a bound of kind B on all of them
// together. Not safe for concurrent use.
type Odometer[L, B any] interface {
	// Record adds the loss of one more mechanism. It returns a *units.RangeError
	// and changes nothing if that is invalid.
	Record(L) error
	// Bound returns the claim about everything recorded so far, rounded up. It
	// changes nothing.
	Bound() B
}

// A ledger is the sums of an odometer with its parameters: all of it that is stored.
type ledger[L, B, S any] interface {
	stored.Layout[S]
	record(L) error // of a valid loss
	bound() B
}

type value[S any, P stored.Layout[S]] = stored.Value[S, P]

// odometerOf is the odometer of a ledger.
type odometerOf[L checked, B, S any, P ledger[L, B, S]] struct{ value[S, P] }

type checked interface{ Validate() error }

func newOdometer[L checked, B, S any, P ledger[L, B, S]](s S) odometerOf[L, B, S, P] {
	return odometerOf[L, B, S, P]{stored.New[S, P](s)}
}

func (o *odometerOf[L, B, S, P]) ledger() P { return stored.Of(&o.value) }

// Record adds l. The error is a *units.RangeError; nothing is recorded then.
func (o *odometerOf[L, B, S, P]) Record(l L) error {
	err := l.Validate()
	if err == nil {
		err = o.ledger().record(l)
	}
	if err != nil {
		return fmt.Errorf("recording a loss: %w", err)
	}
	return nil
}

// Bound returns the claim about everything recorded so far, rounded up. It changes nothing.
func (o *odometerOf[L, B, S, P]) Bound() B { return o.ledger().bound() }

// made puts what a constructor made of the parameters into s where they were read.
func made[S any](c *stored.Codec, s *S) func(interface{ ledger() *S }, error) {
	return func(fresh interface{ ledger() *S }, err error) {
		if c.Fail(err); c.Reading() && !c.Failed() {
			*s = *fresh.ledger()
		}
	}
}

// margin is the relative amount by which a float64 computation is enlarged. All
// formulas of this package add, multiply, divide and take roots, exponentials and
// logarithms of positive numbers, each to within a few units in the last place
// (2^-52), and nothing is subtracted but exact inputs: their error is below 2^-46.
const margin = 0x1p-40

// enlarged returns a float64 above the exact value that x ≥ 0 approximates, and 0
// for 0.
func enlarged(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Nextafter(x*(1+margin), math.Inf(1))
}

// total returns a rounded up, or +Inf once the sum does not fit.
func total(a fixed.Amount) float64 {
	if a == fixed.Max {
		return math.Inf(1)
	}
	return a.FloatUp()
}
