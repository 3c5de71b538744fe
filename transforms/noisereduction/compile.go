package noisereduction

import (
	"math"
	"math/big"
	"sync"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Plan is a compiled ladder with its stop rule and threshold. It is safe for concurrent use.
type Plan struct {
	spec      Spec
	rungs     []rung
	finest    uint    // greatest lattice exponent of all rungs
	barrier   int64   // least score at which the ladder stops; MaxInt64 without a relative target
	reach     []int64 // adaptive: reach[m] is the greatest score with a jump of at least m+2 points
	floorMet  bool    // whether the last rung meets the absolute target
	threshold *threshold
	limit     float64  // threshold as a float64, for Imitate
	z         *big.Rat // two-sided quantile of the confidence
	kappa     float64  // κ as a float64, for MeetableFrom
	widen     *big.Rat // width of an interval divided by the width of a Gaussian interval
	scratch   sync.Pool
}

// Compile checks a Spec and computes its Plan, in a few milliseconds. Its errors wrap ErrSpec.
func Compile(s Spec) (*Plan, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	if s.Private != nil { // a copy, because the caller may change the original
		private := *s.Private
		s.Private = &private
	}
	p := &Plan{spec: s, barrier: math.MaxInt64, kappa: 1}
	p.scratch.New = func() any { return new(refinement) }
	z := quantileOf(s.Target.Confidence, 1)
	p.z = z

	f := factorsFor(s)
	kappa := f.kappaOf(s.Target)
	p.widen = big.NewRat(f.widen, 1000)
	if s.Target.Relative == 0 {
		p.widen = big.NewRat(1, 1)
	}
	p.kappa, _ = kappa.Float64()
	p.setBarrier(z, kappa)
	if err := p.setRungs(z, kappa, new(big.Rat).Mul(z, p.widen)); err != nil {
		return nil, err
	}
	if s.Private != nil {
		p.threshold = newThreshold(s.First, *s.Private)
		p.limit = p.Threshold()
	}
	return p, nil
}

// kappaOf returns κ for a target.
func (f factors) kappaOf(t Target) *big.Rat {
	switch {
	case t.Relative == 0:
		return big.NewRat(1, 1)
	case t.Absolute != 0:
		return big.NewRat(f.floor, 1000)
	}
	return big.NewRat(f.kappa, 1000)
}

// leastPrecisionFor returns the least precision for an absolute target: z·σ ≤ κ·floor, or u ≥
// (z/(κ·floor))².
func leastPrecisionFor(t Target, z, kappa *big.Rat) *big.Int {
	u := new(big.Rat).SetFloat64(t.Absolute)
	u.Quo(z, u.Mul(u, kappa))
	return ceil(shifted(u.Mul(u, u), precisionBits))
}

// TopFor returns the least top precision with which a ladder meets the absolute target of s. It
// ignores First, Top and Private. It returns an error of Target.Check, or a *units.RangeError.
func TopFor(s Spec) (units.Precision, error) {
	if err := s.Target.Check(); err != nil {
		return units.Precision{}, err
	}
	return units.PrecisionFromBig(
		leastPrecisionFor(s.Target, quantileOf(s.Target.Confidence, 1), factorsFor(s).kappaOf(s.Target)))
}

// setBarrier computes the relative stop rule, z·σ ≤ κ·r·est, or est·√u ≥ a = z/(κ·r), and the jumps
// towards it. The next precision is the greatest u′ ≤ 16·u with (est·√u + margin)·√(u′/u) ≤ a.
func (p *Plan) setBarrier(z, kappa *big.Rat) {
	if p.spec.Target.Relative == 0 {
		if p.spec.Kind == Adaptive {
			for range maxJump - 1 {
				p.reach = append(p.reach, math.MaxInt64)
			}
		}
		return
	}
	a := new(big.Rat).SetFloat64(p.spec.Target.Relative)
	a.Quo(z, a.Mul(a, kappa))
	p.barrier = ceil(shifted(a, scoreBits)).Int64()
	if p.spec.Kind != Adaptive {
		return
	}
	// A jump of m points multiplies a score by 2^(m/28).
	roots := rootsOfTwo(2 * octave)
	for m := 2; m <= maxJump; m++ {
		up := 2*octave*((m+2*octave-1)/(2*octave)) - m // 2^(-m/28) = 2^(up/28)/2^k
		v := new(big.Int).Mul(big.NewInt(p.barrier), big.NewInt(roots[up]))
		v.Rsh(v, rootBits+uint((m+up)/(2*octave)))
		p.reach = append(p.reach, v.Int64()-margin<<scoreBits)
	}
}

// margin, in standard deviations, shortens jumps in case the estimate is too low. A jump then
// seldom goes beyond the target, and the last step before the stop is short.
const margin = 2

func (p *Plan) setRungs(z, kappa, width *big.Rat) error {
	last := p.spec.Top.Big()
	if p.spec.Target.Absolute != 0 {
		if least := leastPrecisionFor(p.spec.Target, z, kappa); least.Cmp(last) <= 0 {
			p.floorMet = true
			last = least
		}
	}
	points := ladderPoints(p.spec, last)
	top, err := units.PrecisionFromBig(points[len(points)-1])
	if err != nil {
		return specError("the last precision is beyond 2^48")
	}
	p.finest = latticeExponent(top)
	for _, u := range points {
		r, err := newRung(u, p.finest, width)
		if err != nil {
			return err
		}
		p.rungs = append(p.rungs, r)
	}
	return nil
}

// First returns the precision of the first rung.
func (p *Plan) First() units.Precision { return p.spec.First }

// Top returns the precision that no release exceeds.
func (p *Plan) Top() units.Precision { return p.spec.Top }

// Ladder returns the precisions at which a release can stop, in increasing order, in a new slice.
func (p *Plan) Ladder() []units.Precision {
	all := make([]units.Precision, len(p.rungs))
	for i, r := range p.rungs {
		all[i] = r.precision
	}
	return all
}
