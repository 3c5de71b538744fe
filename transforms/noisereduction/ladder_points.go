package noisereduction

import (
	"math/big"

	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// octave is the number of points per doubling of the precision on an adaptive ladder: the ratio
	// of neighbours is 2^(1/14) = 1.0508.
	octave = 14
	// maxJump is the greatest step of an adaptive ladder in points: ×16.
	maxJump = 4 * octave
	// rootBits defines the unit of the results of rootsOfTwo, 2^-rootBits.
	rootBits = 62
)

// ladderPoints returns the precisions at which a release may stop, strictly increasing, from first
// to last. They are fixed integers: an estimate only selects one of them.
func ladderPoints(s Spec, last *big.Int) []*big.Int {
	first := s.First.Big()
	if first.Cmp(last) >= 0 {
		return []*big.Int{first}
	}
	points := []*big.Int{first}
	next := geometricPoints(s.Factor)
	if s.Kind == Adaptive {
		next = octavePoints(first)
	}
	one := big.NewInt(1)
	for {
		previous := points[len(points)-1]
		u := next(previous)
		if u.Cmp(previous) <= 0 {
			u = new(big.Int).Add(previous, one)
		}
		if u.Cmp(last) >= 0 {
			return append(points, last)
		}
		points = append(points, u)
	}
}

// geometricPoints returns a function that computes the point after u: ⌊u·factor⌋, exactly.
func geometricPoints(factor float64) func(*big.Int) *big.Int {
	step := new(big.Rat).SetFloat64(factor)
	return func(before *big.Int) *big.Int {
		u := new(big.Int).Mul(before, step.Num())
		return u.Quo(u, step.Denom())
	}
}

// octavePoints returns a function that computes the n-th point on its n-th call: ⌊first·2^(n/14)⌋.
func octavePoints(first *big.Int) func(*big.Int) *big.Int {
	roots := rootsOfTwo(octave)
	n := 0
	return func(*big.Int) *big.Int {
		n++
		u := new(big.Int).Mul(first, big.NewInt(roots[n%octave]))
		u.Lsh(u, uint(n/octave))
		return u.Rsh(u, rootBits)
	}
}

// rung is a point of a ladder, with the numbers that a release needs.
type rung struct {
	precision units.Precision
	units     *big.Int // precision in units of 2^-80
	root      *big.Int // ⌈√units·2^(16+J)⌉, where J is the exponent of the finest lattice; see newRung
	half      int64    // half-width of the printed interval, in units of 2^-10
	deviation float64  // 1/√precision, nearest float64
}

// A score is the estimate in standard deviations, est·√u, in units of 2^-scoreBits.
const scoreBits = 24

func newRung(inUnits *big.Int, finest uint, width *big.Rat) (rung, error) {
	u, err := units.PrecisionFromBig(inUnits)
	if err != nil {
		return rung{}, specError("a precision is beyond 2^48")
	}
	// score·2^-24 = (sum·2^-(80+J))/√(units·2^-80), where sum is the weighted sum of a release, so
	// score = sum/(√units·2^(16+J)).
	scaled := new(big.Int).Lsh(inUnits, 2*(precisionBits/2-scoreBits+finest))
	r := rung{precision: u, units: inUnits, root: rootCeil(new(big.Rat).SetInt(scaled))}
	r.deviation = deviationOf(inUnits)
	r.half = halfWidth(width, inUnits)
	return r, nil
}

// deviationOf returns 2^40/√units, computed in 128 bits and rounded once.
func deviationOf(units *big.Int) float64 {
	x := new(big.Float).SetPrec(128).SetInt(units)
	x.Quo(new(big.Float).SetPrec(128).SetMantExp(big.NewFloat(1), precisionBits), x)
	sigma, _ := x.Sqrt(x).Float64()
	return sigma
}
