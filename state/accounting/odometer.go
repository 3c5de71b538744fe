package accounting

import (
	"errors"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
)

// Odometer adds up losses L and claims a bound B on all of them together. Each constructor
// documents its claim. The zero value records nothing.
type Odometer[L, B any] struct {
	accounts.NoJSON
	rule     *claim[L, B]
	recorded []fixed.Amount // the sums
	prices   []fixed.Amount // prices of the current loss
}

// claim is the statement of a theorem about sums of losses. It is immutable.
type claim[L, B any] struct {
	header
	sums[L]
	bound func(sums []fixed.Amount) B
}

// newOdometer returns an odometer with n sums. parameters identify a stored state.
func newOdometer[L, B any](name string, s sums[L], n int, bound func([]fixed.Amount) B,
	parameters ...float64) *Odometer[L, B] {
	return &Odometer[L, B]{
		rule:     &claim[L, B]{header: newHeader(name, parameters, nil), sums: s, bound: bound},
		recorded: make([]fixed.Amount, n), prices: make([]fixed.Amount, n),
	}
}

// newTotal returns an odometer whose claim is the sums themselves.
func newTotal[L any](name string, s sums[L], n int, parameters ...float64) *Odometer[L, L] {
	return newOdometer(name, s, n, func(recorded []fixed.Amount) L { return s.loss(recorded, up) }, parameters...)
}

var errNotMade = errors.New("recording a loss: the odometer was not made by a constructor")

// Record adds the loss of one more mechanism. Call it before the mechanism runs. If it returns an
// error, which is a *units.RangeError, nothing has been recorded.
func (o *Odometer[L, B]) Record(l L) error {
	if o.rule == nil {
		return errNotMade
	}
	if err := o.rule.price(l, o.prices); err != nil {
		return fmt.Errorf("recording a loss: %w", err)
	}
	for i, price := range o.prices {
		o.recorded[i] = o.recorded[i].Plus(price)
	}
	return nil
}

// Bound returns the claimed bound on everything recorded so far, rounded up.
func (o *Odometer[L, B]) Bound() (b B) {
	if o.rule == nil {
		return b
	}
	return o.rule.bound(o.recorded)
}

// Spent returns the recorded sums, rounded up. Only for a total are they a bound.
func (o *Odometer[L, B]) Spent() (l L) {
	if o.rule == nil {
		return l
	}
	return o.rule.loss(o.recorded, up)
}

// margin is the relative amount by which the result of a float64 computation is increased. The
// formulas of odometers add, multiply, divide, and take roots, exponentials and logarithms of
// positive numbers, each to within a few units in the last place (2^-52). They subtract only exact
// inputs. Their relative error is thus below 2^-46.
const margin = 0x1p-40

// enlarged returns a float64 above the exact value that x ≥ 0 approximates, and 0 for 0.
func enlarged(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Nextafter(x*(1+margin), math.Inf(1))
}
