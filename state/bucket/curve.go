package bucket

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Curve is the privacy curve δ(ε) of the composition that Counts describe. Methods other than Set
// may be called concurrently.
type Curve struct {
	table    *Table
	products [2]product // only the first is used if all pairs are symmetric
	total    uint64     // number of mechanisms in the composition
}

// NewCurve returns the curve δ(ε) = 0 of the empty composition. It takes 12 bytes per grid point.
func (t *Table) NewCurve() *Curve { return &Curve{table: t} }

// Set makes c the curve of the given counts. The time is proportional to the number of grid points
// times the number of nonempty buckets, except that components too small to matter are omitted. The
// error is a *units.RangeError if the counts do not match the table or add up to 2^31 or more.
func (c *Curve) Set(counts Counts) error {
	if len(counts) != c.table.Len() {
		return &units.RangeError{Parameter: "buckets", Value: float64(len(counts)), Range: "as many as the table has"}
	}
	total := uint64(0)
	for _, n := range counts {
		total += uint64(n)
	}
	if total >= maxTotal {
		return &units.RangeError{Parameter: "count", Value: float64(total), Range: "below 2^31 in all"}
	}
	c.total = total
	for d := range c.directions() {
		c.products[d].set(c.table, c.table.spectra[d], counts)
	}
	return nil
}

func (c *Curve) directions() []product {
	if c.table.symmetric {
		return c.products[:1]
	}
	return c.products[:]
}

// DeltaAt returns an upper bound on δ(ε), in both directions, by Plancherel's theorem (Lemma D.1).
// The bound is the value on the grid plus bounds on mass at infinity, wrap-around (Chernoff),
// omitted components and rounding. The error is a *units.RangeError unless ε is finite and at least
// 0.
func (c *Curve) DeltaAt(epsilon float64) (float64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 1, err
	}
	delta, _ := c.bounds(epsilon)
	return delta, nil
}

// ErrorAt returns the part of DeltaAt's result that bounds errors, including the mass at infinity.
// Apart from discretisation, the true δ(ε) is below DeltaAt's result by at most that much.
func (c *Curve) ErrorAt(epsilon float64) (float64, error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 1, err
	}
	_, errBound := c.bounds(epsilon)
	return errBound, nil
}

func (c *Curve) bounds(epsilon float64) (delta, errBound float64) {
	if c.total == 0 {
		return 0, 0
	}
	directions := c.directions()
	for d := range directions {
		v, e := directions[d].deltaAt(c.table.circle, epsilon)
		delta, errBound = max(delta, v), max(errBound, e)
	}
	return delta, errBound
}

// EpsilonAt returns an ε ≥ 0 with δ(ε) ≤ delta. It is the least such ε to within 2^-40 of the
// window and the variation of the error bounds. The error is a *units.RangeError unless 0 < delta <
// 1, and a *pld.FloorError (with ε = +Inf) if the error bounds alone exceed delta.
func (c *Curve) EpsilonAt(delta float64) (float64, error) {
	if !(delta > 0 && delta < 1) {
		return math.Inf(1), &units.RangeError{Parameter: "delta", Value: delta, Range: "above 0 and below 1"}
	}
	if d, _ := c.bounds(0); d <= delta {
		return 0, nil
	}
	low, high := 0.0, c.highest()
	if d, _ := c.bounds(high); d > delta {
		return math.Inf(1), &pld.FloorError{Delta: delta, Floor: d}
	}
	for width := (high - low) * 0x1p-40; high-low > width; {
		mid := low + (high-low)/2
		if d, _ := c.bounds(mid); d <= delta {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}

// highest returns an ε for which no loss in the window, in either direction, is ε or more.
func (c *Curve) highest() float64 {
	high := 0.0
	directions := c.directions()
	for d := range directions {
		p := &directions[d]
		high = max(high, float64(p.centre+c.table.options.Points/2)*c.table.options.Interval)
	}
	return high
}

func checkEpsilon(epsilon float64) error {
	return units.Require(epsilon >= 0 && epsilon <= math.MaxFloat64, "epsilon", epsilon, "finite and at least 0")
}
