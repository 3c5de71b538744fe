package mechanisms

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Laplace releases a number with discrete Laplace noise, drawn exactly (Canonne, Kamath and
// Steinke, 2020) on a lattice with at least 2^40 points per scale. Values are rounded to the
// lattice first, and the price covers the rounded values. With noise on the real line, the low
// digits of a float64 sum would reveal the value (Mironov, "On Significance of the Least
// Significant Bits for Differential Privacy", 2012). It is safe for concurrent use, one Source per
// goroutine.
type Laplace struct {
	lattice lattice
	scale   uint64 // in spacings, 2^40 to 2^41
}

// NewLaplace returns the mechanism with scale b, from 2^-23 to 2^40, rounded up to the lattice. The
// error is a *units.RangeError.
func NewLaplace(scale float64) (*Laplace, error) {
	if err := checkScale("scale", scale, greatestScale); err != nil {
		return nil, err
	}
	l := latticeFor(scale, 40)
	return &Laplace{lattice: l, scale: l.spacings(scale)}, nil
}

// Release returns the value with noise. The error is a *units.RangeError for a value that is not
// finite or beyond 2^900, or ErrDigits.
func (l *Laplace) Release(value float64, src Source) (float64, error) {
	base, err := l.lattice.nearest(value)
	if err != nil {
		return 0, err
	}
	noise, err := twoSided(l.scale, src)
	if err != nil {
		return 0, err
	}
	return l.lattice.noisy(base, noise), nil
}

// Approx returns the price of a release for an individual who changes the value by at most
// sensitivity: (sensitivity/b, 0). The sensitivity is rounded up to the lattice.
func (l *Laplace) Approx(sensitivity float64) (loss.Approx, error) {
	return pureOf(l.lattice, l.scale, sensitivity)
}

// ZCDP returns the price of any ε-differentially private mechanism (see conversion.PureToZCDP).
func (l *Laplace) ZCDP(sensitivity float64) (loss.ZCDP, error) {
	pure, err := l.Approx(sensitivity)
	if err != nil {
		return loss.ZCDP{}, err
	}
	return conversion.PureToZCDP(pure.Epsilon)
}

// GDP returns the price of any ε-differentially private mechanism: μ = 2·Φ⁻¹(e^ε/(1 + e^ε)), whose
// Gaussian curve passes through the corner of the curve of ε-differential privacy. It takes about a
// millisecond.
func (l *Laplace) GDP(sensitivity float64) (loss.GDP, error) {
	pure, err := l.Approx(sensitivity)
	if err != nil {
		return loss.GDP{}, err
	}
	return conversion.PureToGDP(pure.Epsilon)
}

// RDP returns the Rényi divergence of the noise itself at the given orders, rounded up. It is the
// equivalent, on the lattice, of Mironov's result for the real line (2017, Proposition 6). Orders
// must be above 1 and in ascending order.
func (l *Laplace) RDP(sensitivity float64, orders ...float64) (loss.RDP, error) {
	pure, err := l.Approx(sensitivity)
	if err != nil {
		return nil, err
	}
	r := make(loss.RDP, len(orders))
	for i, alpha := range orders {
		r[i] = loss.Order{Alpha: alpha}
		if alpha > 1 {
			r[i].Epsilon = laplaceRenyi(pure.Epsilon, 1/float64(l.scale), alpha)
		}
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

// pureOf returns the ε of discrete Laplace noise, ⌈sensitivity/spacing⌉/(scale in spacings),
// rounded up.
func pureOf(l lattice, scale uint64, sensitivity float64) (loss.Approx, error) {
	steps, err := l.steps(sensitivity)
	if err != nil {
		return loss.Approx{}, err
	}
	return finite(sensitivity, rounding.QuotientUp(steps, float64(scale)))
}

func finite(sensitivity, epsilon float64) (loss.Approx, error) {
	price := loss.Approx{Epsilon: epsilon}
	if price.Validate() != nil {
		return loss.Approx{}, &units.RangeError{Parameter: "sensitivity", Value: sensitivity,
			Range: "such that its price is finite"}
	}
	return price, nil
}

// slack exceeds the relative error of the few float64 operations it covers.
const slack = 0x1p-48

// laplaceRenyi returns an upper bound of the Rényi divergence of order α > 1 between two discrete
// Laplace distributions e^(−|x|·h) whose centres are ε/h apart. With a = 2α − 1, the sums of the
// geometric series to the left of, between and to the right of the centres give
//
//	e^((α−1)·D) = A·e^((α−1)·ε) + (1−A)·e^(−α·ε),
//	A = (1 + tanh(h/2)·coth(a·h/2))/2,
//
// This grows with A. For h → 0, A → α/(2α−1), which is Mironov's result. Because tanh(x) ≤ x and
// coth(y) ≤ 1/y + y/3, A ≤ (1 + 1/a + a·h²/12)/2. The divergence never exceeds ε or ε²·α/2 (Bun and
// Steinke, 2016, Proposition 3.3).
func laplaceRenyi(epsilon, h, alpha float64) float64 {
	simple := min(epsilon, rounding.ProductUp(alpha, rounding.ProductUp(rounding.ProductUp(epsilon, epsilon), 0.5)))
	a := 2*alpha - 1
	complement := max(0, (1-1/a-a*h*h/12)/2-slack) // 1 − A, rounded down
	inside := complement * -math.Expm1(-a*epsilon) * (1 - slack)
	bound := epsilon + math.Log1p(-inside)*(1-slack)/(alpha-1)
	return min(simple, bound+epsilon*slack)
}
