package mechanisms

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// Limits of the scale of noise.
	leastScale    = 0x1p-23
	greatestScale = 0x1p40
	// greatestCoarse is the greatest scale of a mechanism with a coarser lattice.
	greatestCoarse = 0x1p30

	// greatestValue bounds the values that can be released.
	greatestValue = 0x1p900
)

// lattice is the set of multiples of 2^-exponent. Noise lies on it, and values are rounded to it
// before the noise is added, so the low digits of the sum do not depend on the value. Every lattice
// contains the integers.
type lattice struct{ exponent uint }

// latticeFor returns the lattice with 2^points to 2^(points+1) points per scale, or finer integers.
func latticeFor(scale float64, points int) lattice {
	return lattice{uint(max(0, points-math.Ilogb(scale)))}
}

// nearest returns the lattice point nearest to a value, in spacings. Halfway values are rounded up,
// so values c spacings apart become at most ⌈c⌉ spacings apart. Rounding half to even does not have
// this property (0.5 and 1.5 become 0 and 2).
func (l lattice) nearest(value float64) (float64, error) {
	if !(math.Abs(value) <= greatestValue) {
		return 0, &units.RangeError{Parameter: "value", Value: value, Range: "between -2^900 and 2^900"}
	}
	scaled := math.Ldexp(value, int(l.exponent))
	below := math.Floor(scaled)
	if scaled-below >= 0.5 {
		below++
	}
	return below, nil
}

// noisy returns (base + noise)·2^-exponent. Because |noise| < 2^53 and base is an integer, the only
// addition returns the exact sum rounded to nearest: a function of the exact sum alone.
func (l lattice) noisy(base float64, noise int64) float64 {
	sum := float64(base + float64(noise))
	return math.Ldexp(sum, -int(l.exponent))
}

// steps returns the greatest distance, in spacings, between two rounded values whose difference is
// at most the sensitivity: ⌈sensitivity/spacing⌉.
func (l lattice) steps(sensitivity float64) (float64, error) {
	if !(sensitivity >= 0 && sensitivity <= greatestValue) {
		return 0, &units.RangeError{Parameter: "sensitivity", Value: sensitivity, Range: "between 0 and 2^900"}
	}
	return math.Ceil(math.Ldexp(sensitivity, int(l.exponent))), nil
}

// spacings returns a scale of noise in multiples of the spacing, rounded up.
func (l lattice) spacings(scale float64) uint64 {
	return uint64(math.Ceil(math.Ldexp(scale, int(l.exponent))))
}

func checkScale(name string, scale, greatest float64) error {
	if !(scale >= leastScale && scale <= greatest) {
		allowed := "between 2^-23 and 2^40"
		if greatest != greatestScale {
			allowed = "between 2^-23 and 2^30"
		}
		return &units.RangeError{Parameter: name, Value: scale, Range: allowed}
	}
	return nil
}
