package compose

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// MaxCount is the maximum number of mechanisms in a composition.
	MaxCount = 1_000_000_000
	// MaxSensitivity is the maximum sensitivity with discrete Gaussian noise.
	MaxSensitivity = 1 << 20
	// MaxValues is the maximum number of values in randomized response.
	MaxValues = 1 << 30
)

// Mechanism is a mechanism with the number of times that it runs. The functions below and Times
// return Mechanisms and check all parameters. The zero value is not a mechanism.
type Mechanism struct {
	name  string
	count int
	pair  pld.Pair     // a dominating pair
	mu    float64      // μ of Gaussian noise without sampling: sensitivity/σ, rounded up
	fixed *loss.Approx // guarantee, if the mechanism has a fixed (ε, δ); nil if it has an ε for every δ

	concentrated float64 // ρ, if the mechanism is ρ-zCDP and has no pair; otherwise 0
	bounded      float64 // ε, if the losses are in an interval of that length; otherwise 0
}

// Gaussian returns the mechanism that adds Gaussian noise with standard deviation sigma to a value
// that one individual changes by at most sensitivity, in the same unit. It is μ-GDP with μ =
// sensitivity/σ (Dong, Roth and Su, 2022, Theorem 2.7). The error is a *units.RangeError unless
// both are finite and above 0, and σ/sensitivity is in the range of pld.Gaussian.
func Gaussian(sigma, sensitivity float64) (Mechanism, error) {
	m, err := gaussian("gaussian", sigma, sensitivity, func(noise pld.Gaussian) pld.Pair { return noise })
	if err != nil {
		return Mechanism{}, err
	}
	m.mu = rounding.QuotientUp(sensitivity, sigma)
	return m, nil
}

// SampledGaussian returns Gaussian on a Poisson sample, which includes every individual with
// probability sampling, from 2^-60 to 1. If sampling is 1, it returns the same as Gaussian.
// Neighbouring inputs differ by one added or removed individual. The error is a *units.RangeError.
func SampledGaussian(sigma, sensitivity, sampling float64) (Mechanism, error) {
	if sampling == 1 {
		return Gaussian(sigma, sensitivity)
	}
	return gaussian("gaussian", sigma, sensitivity, func(noise pld.Gaussian) pld.Pair {
		return pld.SubsampledGaussian{Sigma: noise.Sigma, Sampling: sampling}
	})
}

// GaussianWithoutReplacement returns Gaussian on a sample of fixed size without replacement, which
// contains the fraction sampling of all individuals, from 2^-60 to 1. Neighbouring inputs differ by
// the replacement of one individual. sensitivity is the greatest change that a replacement causes
// in the value of a sample, which may be twice one individual's contribution. The number of
// individuals is public. The error is a *units.RangeError.
func GaussianWithoutReplacement(sigma, sensitivity, sampling float64) (Mechanism, error) {
	if sampling == 1 {
		return Gaussian(sigma, sensitivity)
	}
	return gaussian("gaussian-without-replacement", sigma, sensitivity, func(noise pld.Gaussian) pld.Pair {
		return pld.WithoutReplacement{Pair: noise, Sampling: sampling}
	})
}

// gaussian returns a mechanism with Gaussian noise. The function pair returns the dominating pair,
// which depends on the sampling.
func gaussian(name string, sigma, sensitivity float64, pair func(pld.Gaussian) pld.Pair) (Mechanism, error) {
	noise, err := scaled("sigma", sigma, sensitivity)
	if err != nil {
		return Mechanism{}, err
	}
	return Mechanism{name: name, pair: pair(pld.Gaussian{Sigma: noise})}.scaled("sigma", sigma)
}

// SampledDiscreteGaussian returns DiscreteGaussian on a Poisson sample, as SampledGaussian does for
// Gaussian. The error is a *units.RangeError.
func SampledDiscreteGaussian(sigma float64, sensitivity int, sampling float64) (Mechanism, error) {
	m, err := DiscreteGaussian(sigma, sensitivity)
	if err != nil || sampling == 1 {
		return m, err
	}
	m.pair = pld.Sampled{Pair: m.pair, Sampling: sampling}
	return m.checked()
}

// SampledLaplace returns Laplace on a Poisson sample, as SampledGaussian does for Gaussian. It is
// ε-DP with ε = ln(1 + q·(e^(sensitivity/scale) − 1)) (conversion.SampledPure). The error is a
// *units.RangeError.
func SampledLaplace(scale, sensitivity, sampling float64) (Mechanism, error) {
	m, err := Laplace(scale, sensitivity)
	if err != nil || sampling == 1 {
		return m, err
	}
	m.pair = pld.Sampled{Pair: m.pair, Sampling: sampling}
	epsilon, err := conversion.SampledPure(m.fixed.Epsilon, sampling)
	if err := cmp.Or(m.pair.Validate(), err); err != nil {
		return Mechanism{}, err
	}
	m.fixed = &loss.Approx{Epsilon: epsilon}
	return m, nil
}

// DiscreteGaussian returns the mechanism that adds discrete Gaussian noise with parameter sigma
// (Canonne, Kamath and Steinke, 2020) to an integer that one individual changes by at most
// sensitivity, 1 to MaxSensitivity. The error is a *units.RangeError.
func DiscreteGaussian(sigma float64, sensitivity int) (Mechanism, error) {
	if err := integer("sensitivity", sensitivity, 1, MaxSensitivity); err != nil {
		return Mechanism{}, err
	}
	return Mechanism{name: "discrete-gaussian", pair: pld.DiscreteGaussian{Sigma: sigma,
		Sensitivity: sensitivity}}.checked()
}

// Laplace returns the mechanism that adds Laplace noise with the given scale to a value that one
// individual changes by at most sensitivity, in the same unit. It is ε-DP with ε =
// sensitivity/scale (Dwork et al., 2006). The error is a *units.RangeError unless both are finite
// and above 0.
func Laplace(scale, sensitivity float64) (Mechanism, error) {
	noise, err := scaled("scale", scale, sensitivity)
	if err != nil {
		return Mechanism{}, err
	}
	pure := loss.Approx{Epsilon: rounding.QuotientUp(sensitivity, scale)}
	m := Mechanism{name: "laplace", pair: pld.Laplace{Scale: noise}, fixed: &pure}
	return m.scaled("scale", scale)
}

// RandomizedResponse returns the ε-DP mechanism that releases either one individual's value or a
// random other value (Kairouz, Oh and Viswanath, 2016). values, 2 to MaxValues, is the number of
// possible values. Neighbouring inputs differ in one value. The error is a *units.RangeError.
func RandomizedResponse(epsilon float64, values int) (Mechanism, error) {
	if err := integer("values", values, 2, MaxValues); err != nil {
		return Mechanism{}, err
	}
	pure := loss.Approx{Epsilon: epsilon}
	return Mechanism{name: "randomized-response", pair: pld.RandomizedResponse{Epsilon: epsilon, Values: values},
		fixed: &pure}.checked()
}

// Exponential returns the exponential mechanism with the given scale, which selects candidate i
// with probability proportional to e^(score_i/scale) (McSherry and Talwar, 2007). swing is the
// greatest change that one individual causes in a score minus the least such change, where changes
// have signs (mechanisms.Exponential). The mechanism has ε-bounded range with ε = swing/scale. The
// error is a *units.RangeError unless both are finite and above 0.
func Exponential(scale, swing float64) (Mechanism, error) {
	if err := cmp.Or(positive("scale", scale), positive("swing", swing)); err != nil {
		return Mechanism{}, err
	}
	epsilon := rounding.QuotientUp(swing, scale)
	pure := loss.Approx{Epsilon: epsilon}
	return Mechanism{name: "exponential", pair: pld.BoundedRange{Epsilon: epsilon}, fixed: &pure,
		bounded: epsilon}.checked()
}

// SparseVector returns the search for values above a threshold that ends after positives hits, 1 to
// 2^30. Laplace noise is added to the threshold, with scale threshold, and to each value, with
// scale value. With Δ = sensitivity, the mechanism is ε-DP with ε = Δ/threshold +
// 2·positives·Δ/value, or with half of the second term if monotone is set, which requires that an
// individual changes all values in one direction (mechanisms.SparseVector.Worst, WorstMonotone).
// The error is a *units.RangeError unless sensitivity and the scales are finite and above 0.
func SparseVector(threshold, value, sensitivity float64, positives int, monotone bool) (Mechanism, error) {
	if err := cmp.Or(positive("threshold", threshold), positive("value", value),
		positive("sensitivity", sensitivity), integer("positives", positives, 1, 1<<30)); err != nil {
		return Mechanism{}, err
	}
	moves := 2.0
	if monotone {
		moves = 1
	}
	found := rounding.QuotientUp(rounding.ProductUp(sensitivity, moves*float64(positives)), value)
	m, err := Approx(loss.Approx{Epsilon: rounding.SumUp(rounding.QuotientUp(sensitivity, threshold), found)})
	m.name = "sparse-vector"
	return m, err
}

// Approx returns a mechanism that is only known to be (ε, δ)-DP. The error is a *units.RangeError.
func Approx(a loss.Approx) (Mechanism, error) {
	return Mechanism{name: "eps-delta", pair: pld.Approx(a), fixed: &a}.checked()
}

// ZCDP returns a mechanism that is only known to be ρ-zCDP (Bun and Steinke, 2016, Definition 1.1).
// It has no dominating pair, so pld and gdp do not apply. The error is a *units.RangeError unless ρ
// is above 0 and δ, which approximate zCDP has, is 0.
func ZCDP(z loss.ZCDP) (Mechanism, error) {
	if err := cmp.Or(positive("rho", z.Rho), units.Require(z.Delta == 0, "delta", z.Delta, "0")); err != nil {
		return Mechanism{}, err
	}
	return Mechanism{name: "zcdp", concentrated: z.Rho, count: 1}, nil
}

// Times returns a mechanism that runs count times as often. The error is a *units.RangeError unless
// count and its product with the previous count are from 1 to MaxCount.
func (m Mechanism) Times(count int) (Mechanism, error) {
	if err := integer("count", count, 1, MaxCount); err != nil {
		return Mechanism{}, err
	}
	if m.count > MaxCount/count {
		return Mechanism{}, countError(float64(m.count) * float64(count))
	}
	m.count *= count
	return m, nil
}

// Count returns the number of times that the mechanism runs, or 0 for the zero value.
func (m Mechanism) Count() int { return m.count }

// checked returns the mechanism with a count of 1, or an error if a parameter is out of range.
func (m Mechanism) checked() (Mechanism, error) {
	if err := m.pair.Validate(); err != nil {
		return Mechanism{}, err
	}
	m.count = 1
	return m, nil
}

// scaled does the same as checked. If the ratio of a parameter to the sensitivity is out of range,
// its error names that ratio.
func (m Mechanism) scaled(parameter string, given float64) (Mechanism, error) {
	m, err := m.checked()
	var out *units.RangeError
	if errors.As(err, &out) && out.Parameter == parameter && out.Value != given {
		return m, &units.RangeError{Parameter: parameter + "/sensitivity", Value: out.Value, Range: out.Range}
	}
	return m, err
}

// scaled returns the noise level for a sensitivity of 1, rounded down.
func scaled(parameter string, noise, sensitivity float64) (float64, error) {
	if err := cmp.Or(positive(parameter, noise), positive("sensitivity", sensitivity)); err != nil {
		return 0, err
	}
	return rounding.QuotientDown(noise, sensitivity), nil
}

func positive(name string, v float64) error {
	return units.Require(v > 0 && v <= math.MaxFloat64, name, v, "finite and above 0")
}

func integer(name string, v, least, most int) error {
	return units.Require(v >= least && v <= most, name, float64(v),
		fmt.Sprintf("an integer from %d to %d", least, most))
}

func countError(v float64) error {
	return &units.RangeError{Parameter: "count", Value: v, Range: fmt.Sprintf("an integer from 1 to %d", MaxCount)}
}

// plus returns sum + count·value, with each operation rounded up. value must be at least 0 and may
// be +Inf. count must be from 1 to MaxCount, so that a float64 represents it exactly.
func plus(sum, value float64, count int) float64 {
	return rounding.SumUp(sum, rounding.ProductUp(value, float64(count)))
}

// approximate reports whether the mechanism may fail with some probability, and has no Rényi
// divergence.
func (m Mechanism) approximate() bool { return m.fixed != nil && m.fixed.Delta > 0 }

// sample describes the kind of sample that the mechanism uses. It is "" for all data.
func (m Mechanism) sample() string {
	switch m.pair.(type) {
	case pld.SubsampledGaussian, pld.Sampled:
		return "a Poisson sample"
	case pld.WithoutReplacement:
		return "a sample without replacement"
	}
	return ""
}
