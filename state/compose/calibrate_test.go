package compose

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// The exact σ were computed by another program. Without sampling: in Python with mpmath, 40
// digits, √k/μ at the μ for which Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2) is δ, by halving. With
// sampling: δ(ε) by the integral that state/bucket's TestTheIntervalFollowsTheSamples
// describes, in float64 and plain Python, the greater ε of both directions, and the σ at
// which it is the budget's by the secant of ln ε over ln σ.
func TestCalibratedNoiseIsTheLeastThatFits(t *testing.T) {
	for _, c := range []struct {
		budget loss.Approx
		Releases
		exact float64
	}{
		{eps(1, 1e-6), Releases{Count: 1, Contribution: 1, Sampling: 1}, 4.22467888932684},
		{eps(1, 1e-6), Releases{Count: 10, Contribution: 1, Sampling: 1}, 13.3596076731032},
		{eps(1, 1e-6), Releases{Count: 10_000, Contribution: 1, Sampling: 1}, 422.467888932684},
		{eps(0.1, 1e-9), Releases{Count: 365, Contribution: 1, Sampling: 1}, 959.257231013577},
		{eps(8, 1e-5), Releases{Count: 77, Contribution: 20, Sampling: 1}, 20 * 5.26698873282321},
		{eps(1, 1e-6), Releases{Count: 10_000, Contribution: 1, Sampling: 0.005}, 2.24337033},
		{eps(1, 1e-5), Releases{Count: 10_000, Contribution: 1, Sampling: 0.01}, 3.81281675},
		{eps(1, 1e-6), Releases{Count: 1000, Contribution: 1, Sampling: 0.01}, 1.56266469},
		{eps(1, 1e-6), Releases{Count: 1000, Contribution: 7, Sampling: 0.1}, 7 * 13.4330338},
	} {
		if !long.On() && c.Sampling < 1 && c.Count < 10_000 {
			continue
		}
		sigma, cost, err := Calibrate(c.budget, c.Releases)
		if err != nil {
			t.Errorf("%+v for %+v: %v", c.Releases, c.budget, err)
			continue
		}
		if !(sigma >= c.exact && sigma < c.exact*1.0015) {
			t.Errorf("%+v for %+v: σ = %v, exact %v", c.Releases, c.budget, sigma, c.exact)
		}
		if read, err := strconv.ParseFloat(strconv.FormatFloat(sigma, 'e', 3, 64), 64); err != nil || read != sigma {
			t.Errorf("σ = %v has more than four digits", sigma)
		}
		best := func(sigma float64) Verdict {
			list := must.Have(c.mechanisms(sigma))
			v, _, err := Best(list, asked(t, EpsilonAt, c.budget.Delta))
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		if again := best(sigma); again.Loss != cost.Loss || again.Accountant.Name() != cost.Accountant.Name() ||
			!(cost.Loss.Epsilon <= c.budget.Epsilon) {
			t.Errorf("%+v for %+v: σ = %v costs %+v, and asked again %+v", c.Releases, c.budget, sigma, cost.Loss,
				again.Loss)
		}
		if less := (floorDecimal(sigma) - 1).value(); !(less < sigma && best(less).Loss.Epsilon > c.budget.Epsilon) {
			t.Errorf("%+v for %+v: σ = %v is enough, too", c.Releases, c.budget, less)
		}
	}
}

// Without sampling, a filter of the budget takes the releases one by one, and is full at some
// number of more of them.
func TestCalibratedReleasesFitAGaussianFilter(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 7, 1))
	cases := []Releases{{1, 1, 1}, {10, 1, 1}, {10_000, 1, 1}, {3, 0.1, 1}, {7, 1e-30, 1}, {49, 1e30, 1}}
	for range 60 {
		cases = append(cases, Releases{1 + rng.IntN(300), math.Exp(4 * rng.NormFloat64()), 1})
	}
	for _, r := range cases {
		budget := eps(math.Exp(2*rng.NormFloat64()), math.Pow(10, -1-12*rng.Float64()))
		sigma, _, err := Calibrate(budget, r)
		if err != nil {
			t.Errorf("%+v for %+v: %v", r, budget, err)
			continue
		}
		f := must.Have(accounting.NewGaussianFor(budget))
		for range r.Count {
			must.Have(0, f.Spend(loss.GDP{Mu: r.Contribution / sigma}))
		}
		more := 0
		for ; more <= r.Count/200+1 && f.Spend(loss.GDP{Mu: r.Contribution / sigma}) == nil; more++ {
		}
		if more > r.Count/200+1 {
			t.Errorf("%+v for %+v: with σ = %v there is room for %d more", r, budget, sigma, more)
		}
	}
}

// The ends of the ranges: a result that fits, or an error that names the number.
func TestCalibrateAtTheEndsOfItsRanges(t *testing.T) {
	one := Releases{1, 1, 1}
	if sigma, cost, err := Calibrate(eps(1e6, 0.5), one); err != nil || sigma != 0.0009766 || cost.Loss.Epsilon > 1e6 {
		t.Errorf("with a great budget: σ = %v at %+v (%v), want the least of the range", sigma, cost.Loss, err)
	}
	for _, c := range []struct {
		budget loss.Approx
		Releases
	}{
		{eps(1e-9, 1e-300), Releases{MaxCount, 1, 1}}, {eps(1e-300, 1e-300), one},
	} {
		sigma, _, err := Calibrate(c.budget, c.Releases)
		if !errors.Is(err, ErrNotApplicable) || sigma != 0 {
			t.Errorf("%+v for %+v: σ = %v (%v), want none", c.Releases, c.budget, sigma, err)
		}
	}
	nan := math.NaN()
	for _, c := range []struct {
		budget loss.Approx
		Releases
		want string
	}{
		{eps(0, 1e-6), one, "epsilon"}, {eps(nan, 1e-6), one, "epsilon"}, {eps(1e7, 1e-6), one, "epsilon"},
		{eps(1, 0), one, "delta"}, {eps(1, 1), one, "delta"}, {eps(1, nan), one, "delta"},
		{eps(1, 1e-6), Releases{0, 1, 1}, "releases"}, {eps(1, 1e-6), Releases{MaxCount + 1, 1, 1}, "releases"},
		{eps(1, 1e-6), Releases{1, 0, 1}, "contribution"}, {eps(1, 1e-6), Releases{1, nan, 1}, "contribution"},
		{eps(1, 1e-6), Releases{1, math.Inf(1), 1}, "contribution"},
		{eps(1, 1e-6), Releases{1, 1, 0}, "sampling"}, {eps(1, 1e-6), Releases{1, 1, nan}, "sampling"},
		{eps(1, 1e-6), Releases{1, 1, 1.01}, "sampling"},
	} {
		var out *units.RangeError
		if _, _, err := Calibrate(c.budget, c.Releases); !errors.As(err, &out) || out.Parameter != c.want {
			t.Errorf("%+v for %+v: %v, want a *units.RangeError of %s", c.Releases, c.budget, err, c.want)
		}
	}
}
