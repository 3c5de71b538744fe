package mechanisms

import (
	"math"
	"math/big"
	"sync"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// DiscreteGaussian releases an integer with discrete Gaussian noise: P(x) is proportional to
// e^(−x²/2σ²) over the integers. The noise is drawn exactly, for exactly the given σ (Canonne,
// Kamath and Steinke, 2020, Algorithm 3). It has the same ρ-zCDP as Gaussian noise. No GDP with a
// similar μ is known for it, because its trade-off function has corners. It is safe for concurrent
// use with a Source for each goroutine.
type DiscreteGaussian struct {
	scale   uint64   // t = ⌊σ⌋ + 1 of the proposal
	num     *big.Int // σ² = num/den
	den     *big.Int
	step    *big.Int // den·t
	divisor *big.Int // 2·num·den·t²
	scratch sync.Pool
}

// trial is the reusable memory of one draw.
type trial struct{ distance, whole, remainder, digit big.Int }

// NewDiscreteGaussian returns the mechanism with parameter sigma, from 2^-23 to 2^40. The variance
// is at most sigma². The error is a *units.RangeError.
func NewDiscreteGaussian(sigma float64) (*DiscreteGaussian, error) {
	if err := checkScale("sigma", sigma, greatestScale); err != nil {
		return nil, err
	}
	variance := new(big.Rat).SetFloat64(sigma)
	variance.Mul(variance, variance)
	d := &DiscreteGaussian{
		scale: uint64(math.Floor(sigma)) + 1,
		num:   variance.Num(),
		den:   variance.Denom(),
	}
	t := new(big.Int).SetUint64(d.scale)
	d.step = t.Mul(t, d.den)
	d.divisor = new(big.Int).SetUint64(2 * d.scale)
	d.divisor.Mul(d.divisor, d.num)
	d.divisor.Mul(d.divisor, new(big.Int).SetUint64(d.scale))
	d.divisor.Mul(d.divisor, d.den)
	d.scratch.New = func() any { return new(trial) }
	return d, nil
}

// Release rounds the value to an integer and returns it with noise. The error is a
// *units.RangeError for a value that is not finite or beyond 2^900, or ErrDigits.
func (d *DiscreteGaussian) Release(value float64, src Source) (float64, error) {
	var integers lattice
	base, err := integers.nearest(value)
	if err != nil {
		return 0, err
	}
	noise, err := d.noise(src)
	if err != nil {
		return 0, err
	}
	return integers.noisy(base, noise), nil
}

// noise proposes discrete Laplace noise Y of scale t. It keeps Y with probability exp(−(|Y| −
// σ²/t)²/2σ²).
func (d *DiscreteGaussian) noise(src Source) (int64, error) {
	c := d.scratch.Get().(*trial)
	defer d.scratch.Put(c)
	for {
		y, err := twoSided(d.scale, src)
		if err != nil {
			return 0, err
		}
		// (|Y| − num/(den·t))²·den/(2·num) = (|Y|·den·t − num)²/(2·num·den·t²).
		c.distance.Abs(c.distance.SetInt64(y))
		c.distance.Mul(&c.distance, d.step)
		c.distance.Sub(&c.distance, d.num)
		c.distance.Mul(&c.distance, &c.distance)
		if c.accept(d.divisor, src) {
			return y, nil
		}
	}
}

// accept returns true with probability exp(−distance/divisor).
func (c *trial) accept(divisor *big.Int, src Source) bool {
	c.whole.QuoRem(&c.distance, divisor, &c.remainder)
	whole := uint64(math.MaxUint64) // beyond this range e^-2^64 is 0
	if c.whole.IsUint64() {
		whole = c.whole.Uint64()
	}
	for range whole {
		if !expFraction(1, 1, src) {
			return false
		}
	}
	for k := uint64(1); ; k++ {
		c.distance.Set(&c.remainder)
		if !c.ratio(divisor, src) || !ratio(1, k, src) {
			return k&1 == 1
		}
	}
}

// ratio is like the function ratio, for the probability distance/divisor < 1. It overwrites
// distance.
func (c *trial) ratio(divisor *big.Int, src Source) bool {
	for {
		c.distance.Lsh(&c.distance, 64)
		c.whole.QuoRem(&c.distance, divisor, &c.digit)
		digit, w := c.whole.Uint64(), src.Word()
		if w != digit {
			return w < digit
		}
		if c.digit.Sign() == 0 {
			return false
		}
		c.distance.Set(&c.digit)
	}
}

// ZCDP returns the price of a release for an individual who changes the value by at most
// sensitivity: ρ = sensitivity²/(2σ²) (Canonne, Kamath and Steinke, Theorem 4). The sensitivity is
// rounded up to an integer, and the result is rounded up.
func (d *DiscreteGaussian) ZCDP(sensitivity float64) (loss.ZCDP, error) {
	var integers lattice
	steps, err := integers.steps(sensitivity)
	if err != nil {
		return loss.ZCDP{}, err
	}
	k := new(big.Float).SetFloat64(steps)
	exact := new(big.Float).SetPrec(512).SetInt(d.den)
	exact.Mul(exact, k)
	exact.Mul(exact, k)
	exact.SetMode(big.ToPositiveInf)
	exact.Quo(exact, new(big.Float).SetPrec(512).SetInt(new(big.Int).Lsh(d.num, 1)))
	rho, err := priceUp(exact, sensitivity)
	return loss.ZCDP{Rho: rho}, err
}

// RDP returns the price at the given orders, α·ρ, rounded up.
func (d *DiscreteGaussian) RDP(sensitivity float64, orders ...float64) (loss.RDP, error) {
	z, err := d.ZCDP(sensitivity)
	if err != nil {
		return nil, err
	}
	return conversion.ZCDPToRDP(z, orders)
}

// Approx returns an ε for delta, from ρ-zCDP by the optimal conversion.
func (d *DiscreteGaussian) Approx(sensitivity, delta float64) (loss.Approx, error) {
	z, err := d.ZCDP(sensitivity)
	if err != nil {
		return loss.Approx{}, err
	}
	epsilon, err := conversion.ApproxZCDPToEpsilon(z, delta)
	if err != nil {
		return loss.Approx{}, err
	}
	return loss.Approx{Epsilon: epsilon, Delta: delta}, nil
}
