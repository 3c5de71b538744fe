package reference

import (
	"fmt"
	"math/big"
	"sync"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// ladder is the mechanism of one metric, implemented from its documentation in exact arithmetic:
// precisions are integers in units of 2^-80, everything else is rational.
type ladder struct {
	spec     schemas.MetricSpec
	points   []*big.Int       // the precisions that a release may stop at
	barrier  *big.Int         // a release stops once ⌊est·√u·2^24⌋ reaches it; nil without a relative target
	steps    []*big.Int       // by m, as far as computed: the barrier divided by 2^(m/28)
	floorMet bool             // the last point meets the absolute target
	width    *big.Rat         // half-width of the interval in standard deviations
	widen    *big.Rat         // factor of all widths
	widths   map[int]*big.Rat // by n: the results of jointWidth
	mu       sync.Mutex       // guards steps and widths
	limit    *big.Rat         // a private key passes iff its first noisy count exceeds limit; nil for public keys
}

// stop is the result of a refinement.
type stop struct {
	passed            bool
	precision         *big.Int
	value             int64
	stddev, low, high float64
	rungs             uint32
	met               bool
}

func newLadder(spec schemas.MetricSpec) (*ladder, error) {
	if components(spec.Kind) != nil && (spec.Relative != 0 || spec.Absolute != 0) {
		spec.Relative, spec.Absolute = aim(spec), 0
	}
	fitted, err := fittedFactors(spec)
	if err != nil {
		return nil, err
	}
	z := quantile(tailOf(spec.Confidence, 1))
	l := &ladder{spec: spec, width: z, widen: rat(1), widths: map[int]*big.Rat{}}
	kappa := rat(1)
	if spec.Relative != 0 {
		kappa, l.widen = fitted.kappa, fitted.widen
		l.width = mul(z, fitted.widen)
		// z·σ ≤ κ·r·est, that is, est·√u ≥ z/(κ·r).
		l.barrier = ceil(scale(quo(z, mul(kappa, exactRat(spec.Relative))), 24))
	}
	last := spec.Top.Big()
	if spec.Absolute != 0 {
		// z·σ ≤ κ·floor, that is, u ≥ (z/(κ·floor))².
		if enough := ceil(scale(square(quo(z, mul(kappa, exactRat(spec.Absolute)))), 80)); enough.Cmp(last) <= 0 {
			last, l.floorMet = enough, true
		}
	}
	l.points = ladderPoints(spec, last)
	if spec.KeyMode == "private" {
		l.limit = threshold(spec)
	}
	return l, nil
}

// jointWidth returns the half-width of each of n intervals that hold simultaneously.
func (l *ladder) jointWidth(n int) *big.Rat {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.widths[n] == nil {
		l.widths[n] = mul(quantile(tailOf(l.spec.Confidence, int64(n))), l.widen)
	}
	return l.widths[n]
}

// ladderPoints returns the precisions from first to last: steps of a fixed factor, or of 2^(1/14)
// for the adaptive ladder.
func ladderPoints(spec schemas.MetricSpec, last *big.Int) []*big.Int {
	first := spec.First.Big()
	points := []*big.Int{first}
	roots := make([]*big.Int, 14) // roots of two, computed when needed
	for n := 1; points[len(points)-1].Cmp(last) < 0; n++ {
		before := points[len(points)-1]
		var u *big.Int
		if spec.LadderKind == string(noisereduction.Adaptive) {
			// ⌊first·2^(n/14)⌋, with the root truncated to 62 binary places.
			if roots[n%14] == nil {
				roots[n%14] = rootOfTwo(n%14, 14, 62)
			}
			u = new(big.Int).Mul(first, roots[n%14])
			u.Rsh(u.Lsh(u, uint(n/14)), 62)
		} else {
			u = floor(mul(ratOf(before), exactRat(spec.LadderFactor)))
		}
		if u.Cmp(before) <= 0 {
			u = new(big.Int).Add(before, big.NewInt(1))
		}
		if u.Cmp(last) > 0 {
			u = last
		}
		points = append(points, u)
	}
	return points
}

// threshold returns τ, the greater of two values of ⌈c + σ₁·z⌉ on the lattice of the first rung:
// for c = 1, and for the most that one individual can add to a key. z is −Φ⁻¹(c²·δ_key), and σ₁ the
// deviation that the sampler uses.
func threshold(spec schemas.MetricSpec) *big.Rat {
	u := spec.First.Big()
	// Like the sampler: drop an even number of bits of u, so that 63 or 64 remain, take the integer
	// root, and round the quotient up.
	shift := u.BitLen() - 64
	shift += shift & 1
	lead := floor(scale(ratOf(u), -shift))
	sigma := scale(ratOf(ceilDiv(power(94), lead.Sqrt(lead))), -54-shift/2)
	exponent := 10 + max(0, u.BitLen()-79)/2
	limit := rat(0)
	for _, c := range []*big.Rat{rat(1), ratOf(greatestPayable(spec))} {
		z := quantile(scale(mul(square(c), ratOf(spec.DeltaKey.Big())), -80))
		above := add(c, scale(ratOf(ceil(scale(mul(z, sigma), exponent))), -exponent))
		if above.Cmp(limit) > 0 {
			limit = above
		}
	}
	return limit
}

func (l *ladder) refine(key noisereduction.NoiseKey, id noisereduction.Identity, count int64) (stop, error) {
	var sampler noisereduction.Sampler
	sum := rat(0) // Σ (u_k − u_{k−1})·y_k
	before := new(big.Int)
	point := 0
	for rung := 1; ; rung++ {
		u := l.points[point]
		y, err := draw(&sampler, key, id, rung, before, u, count)
		if err != nil {
			return stop{}, err
		}
		if rung == 1 && l.limit != nil && y.Cmp(l.limit) <= 0 {
			return stop{precision: u, rungs: 1}, nil
		}
		sum = add(sum, mul(sub(ratOf(u), ratOf(before)), y))
		before = u
		estimate := quo(sum, ratOf(u))
		score := scoreOf(estimate, u)
		last := point == len(l.points)-1
		met := l.barrier != nil && score.Cmp(l.barrier) >= 0 || last && l.floorMet
		if met || last {
			return l.stopAt(u, estimate, rung, met), nil
		}
		point = min(point+l.jump(score), len(l.points)-1)
	}
}

func draw(s *noisereduction.Sampler, key noisereduction.NoiseKey, id noisereduction.Identity, rung int,
	before, u *big.Int, count int64) (*big.Rat, error) {
	y, exponent, err := s.Draw(key, id, rung, precisionOf(before), precisionOf(u), count)
	if err != nil {
		return nil, fmt.Errorf("drawing rung %d: %w", rung, err)
	}
	return scale(ratOf(y), -int(exponent)), nil
}

// precisionOf converts a precision. Computed precisions never exceed the top of their ladder; one
// that did not fit would become 0, which the sampler refuses.
func precisionOf(u *big.Int) units.Precision {
	p, _ := units.PrecisionFromBig(u)
	return p
}

// scoreOf returns est·√u in units of 2^-24, rounded down in absolute value.
func scoreOf(estimate *big.Rat, u *big.Int) *big.Int {
	score := floor(mul(square(estimate), scale(ratOf(u), 48-80)))
	score.Sqrt(score)
	if estimate.Sign() < 0 {
		score.Neg(score)
	}
	return score
}

// jump returns the number of points to the next rung. On an adaptive ladder, it is the greatest
// m ≤ 56 (a factor of 16) with (est·√u + 2)·2^(m/28) ≤ barrier, but at least 1.
func (l *ladder) jump(score *big.Int) int {
	switch {
	case l.spec.LadderKind != string(noisereduction.Adaptive):
		return 1
	case score.Sign() <= 0 || l.barrier == nil:
		return 56
	}
	raised := new(big.Int).Add(score, big.NewInt(2<<24))
	m := 1
	for m < 56 && raised.Cmp(l.step(m+1)) <= 0 {
		m++
	}
	return m
}

// step returns the barrier divided by 2^(m/28). It computes each quotient once.
func (l *ladder) step(m int) *big.Int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.steps) <= m {
		l.steps = append(l.steps, divideByRoot(l.barrier, len(l.steps)))
	}
	return l.steps[m]
}

// divideByRoot returns ⌊v·2^(−m/28)⌋, the greatest w with w^28·2^m ≤ v^28.
func divideByRoot(v *big.Int, m int) *big.Int {
	power := new(big.Int).Exp(v, big.NewInt(28), nil)
	return integerRoot(power.Rsh(power, uint(m)), 28)
}

func (l *ladder) stopAt(u *big.Int, estimate *big.Rat, rungs int, met bool) stop {
	value := roundHalfEven(scale(estimate, 10))
	// half = ⌈width·2^40/√u·2^10⌉, plus one for the rounding of the value and its noise.
	half := ceil(quo(scale(square(l.width), 80+20), ratOf(u)))
	root := new(big.Int).Sqrt(half)
	if new(big.Int).Mul(root, root).Cmp(half) < 0 {
		root.Add(root, big.NewInt(1))
	}
	h := root.Int64() + 1
	deviation := newReal().SetMantExp(real64(1), 80)
	deviation.Quo(deviation, newReal().SetInt(u))
	stddev, _ := deviation.Sqrt(deviation).Float64()
	return stop{
		passed: true, precision: u, value: value, stddev: stddev, rungs: uint32(rungs), met: met,
		low: float64(value-h) / 1024, high: float64(value+h) / 1024,
	}
}
