package compose

import "github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"

// total is a sum of float64 numbers and products, rounded up after every step; a result that fits
// float64 is exact. The zero value is 0.
type total struct{ sum float64 }

// add adds count·value; value is at least 0 and may be +Inf, count is from 1 to MaxCount,
// which a float64 represents exactly.
func (t *total) add(value float64, count int) {
	t.sum = rounding.SumUp(t.sum, rounding.ProductUp(value, float64(count)))
}

// value returns the sum: one above the greatest float64 is +Inf.
func (t *total) value() float64 { return t.sum }
