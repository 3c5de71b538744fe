package mechanisms

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// Range of the scale of noise.
	leastScale    = 0x1p-23
	greatestScale = 0x1p40
	// greatestCoarse is the greatest scale of a lattice with at least 2^30 points per scale.
	greatestCoarse = 0x1p30

	// greatestValue bounds the values that can be released.
	greatestValue = 0x1p900
)

// lattice is the multiples of 2^-exponent. Values are rounded to it before the noise, which lies on
// it, is added: the sum then has the same low digits whatever the value was. Every lattice contains
// the integers.
type lattice struct{ exponent uint }

// latticeFor returns the lattice with 2^points to 2^(points+1) points per scale, at
// least the integers.
func latticeFor(scale float64, points int) lattice {
	return lattice{uint(max(0, points-math.Ilogb(scale)))}
}

// nearest returns the multiple of the spacing nearest to a value, in multiples. A value halfway is
// rounded up: then values c apart, for any c, are at most ⌈c⌉ spacings apart, unlike with rounding
// half to even (0.5 and 1.5 become 0 and 2).
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

// noisy returns (base + noise)·2^-exponent. |noise| < 2^53 and base is an integer, so that the one
// addition is the sum rounded to nearest: a function of the exact sum and of nothing else.
func (l lattice) noisy(base float64, noise int64) float64 {
	sum := float64(base + float64(noise))
	return math.Ldexp(sum, -int(l.exponent))
}

// steps returns the greatest distance, in spacings, between two rounded values that differ by the
// sensitivity: ⌈sensitivity/spacing⌉.
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
