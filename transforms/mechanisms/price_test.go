package mechanisms

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// TestGaussianPricesAgreeWithOthers: σ = 10, ε = 0.1 from the tests of Google's
// differential-privacy library for Go (noise/gaussian_noise_test.go), σ = 4.530877117 for (1, 1e-6)
// through Rényi divergences from the tests of its Python accountant
// (rdp_privacy_accountant_test.py, to 7 decimals).
func TestGaussianPricesAgreeWithOthers(t *testing.T) {
	ten, err := NewGaussian(10)
	if err != nil {
		t.Fatal(err)
	}
	mu, err := ten.GDP(1)
	if err != nil {
		t.Fatal(err)
	}
	delta, err := conversion.GDPToDelta(mu, 0.1)
	if err != nil || math.Abs(delta-0.008751768145810) > 1e-14 {
		t.Errorf("sigma 10 at epsilon 0.1: delta %v, %v", delta, err)
	}
	if price, err := ten.Approx(1, delta); err != nil || math.Abs(price.Epsilon-0.1) > 1e-12 || price.Delta != delta {
		t.Errorf("sigma 10 at delta %v: %v, %v; want epsilon 0.1", delta, price, err)
	}
	other, err := NewGaussian(4.530877117)
	if err != nil {
		t.Fatal(err)
	}
	z, err := other.ZCDP(1)
	if err != nil {
		t.Fatal(err)
	}
	if epsilon, err := conversion.ApproxZCDPToEpsilon(z, 1e-6); err != nil || math.Abs(epsilon-1) > 1e-7 {
		t.Errorf("sigma 4.530877117 at delta 1e-6: epsilon %v, %v", epsilon, err)
	}
}

func TestPricesOfRoundNumbersAreExact(t *testing.T) {
	g, _ := NewGaussian(2)
	l, _ := NewLaplace(4)
	d, _ := NewDiscreteGaussian(2)
	if mu, err := g.GDP(1); err != nil || mu.Mu != 0.5 {
		t.Errorf("gaussian: %v, %v", mu, err)
	}
	if z, err := g.ZCDP(1); err != nil || z.Rho != 0.125 || z.Delta != 0 {
		t.Errorf("gaussian: %v, %v", z, err)
	}
	if r, err := g.RDP(1, 2, 8); err != nil || len(r) != 2 || r[0].Epsilon != 0.25 || r[1].Epsilon != 1 {
		t.Errorf("gaussian: %v, %v", r, err)
	}
	if a, err := l.Approx(3); err != nil || a != (loss.Approx{Epsilon: 0.75}) {
		t.Errorf("laplace: %v, %v", a, err)
	}
	if z, err := d.ZCDP(3); err != nil || z.Rho != 1.125 || z.Delta != 0 {
		t.Errorf("discrete gaussian: %v, %v", z, err)
	}
	// A sensitivity between lattice points costs the next one.
	if z, err := d.ZCDP(2.1); err != nil || z.Rho != 1.125 {
		t.Errorf("discrete gaussian, sensitivity 2.1: %v, %v", z, err)
	}
	if r, err := d.RDP(1, 3); err != nil || r[0].Epsilon != 0.375 {
		t.Errorf("discrete gaussian: %v, %v", r, err)
	}
	if a, err := d.Approx(1, 1e-6); err != nil || a.Epsilon < 2.4 || a.Epsilon > 2.6 {
		t.Errorf("discrete gaussian at 1e-6: %v, %v", a, err)
	}
	for _, price := range []func() (float64, error){
		func() (float64, error) { p, err := g.GDP(0); return p.Mu, err },
		func() (float64, error) { p, err := g.ZCDP(0); return p.Rho, err },
		func() (float64, error) { p, err := l.Approx(0); return p.Epsilon, err },
		func() (float64, error) { p, err := d.ZCDP(0); return p.Rho, err },
	} {
		if p, err := price(); err != nil || p != 0 {
			t.Errorf("no sensitivity costs %v, %v", p, err)
		}
	}
}

func exact(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// atLeast fails if a price is below the truth, or above it by more than a factor.
func atLeast(t *rapid.T, name string, price float64, truth *big.Rat, factor float64) {
	t.Helper()
	if exact(price).Cmp(truth) < 0 {
		t.Fatalf("%s: price %v is below the truth %v", name, price, truth)
	}
	if over, _ := new(big.Rat).Quo(exact(price), truth).Float64(); over > factor {
		t.Fatalf("%s: price %v is %v times the truth, want at most %v", name, price, over, factor)
	}
}

// TestPricesAreNeverBelowTheTruth compares with exact rational arithmetic. A price
// may be above it by one spacing of sensitivity.
func TestPricesAreNeverBelowTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "mantissa"), rapid.IntRange(-23, 39).Draw(t, "exponent"))
		c := scale * math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "c"), rapid.IntRange(-60, 20).Draw(t, "size"))
		square := func(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, x) }
		truth := new(big.Rat).Quo(exact(c), exact(scale))
		factor := (1 + scale*0x1p-40/c) * (1 + 1e-12)

		g, err := NewGaussian(scale)
		if err != nil {
			t.Fatal(err)
		}
		mu, err := g.GDP(c)
		if err != nil {
			t.Fatal(err)
		}
		z, err := g.ZCDP(c)
		if err != nil {
			t.Fatal(err)
		}
		units := g.precision.Big()
		noise := new(big.Rat).SetFrac(units, new(big.Int).Lsh(big.NewInt(1), 80)) // 1/σ² of the noise
		noise.Mul(noise, square(exact(c)))
		if noise.Cmp(square(truth)) > 0 {
			t.Fatalf("noise of less than sigma %v", scale)
		}
		atLeast(t, "mu²", mu.Mu*mu.Mu*(1+1e-15), noise, factor*factor)
		atLeast(t, "2 rho", 2*z.Rho, noise, factor*factor)

		l, err := NewLaplace(scale)
		if err != nil {
			t.Fatal(err)
		}
		a, err := l.Approx(c)
		if err != nil {
			t.Fatal(err)
		}
		drawn := math.Ldexp(float64(l.scale), -int(l.lattice.exponent))
		if drawn < scale || drawn > scale*(1+0x1p-40) {
			t.Fatalf("scale %v drawn as %v", scale, drawn)
		}
		atLeast(t, "epsilon", a.Epsilon, new(big.Rat).Quo(exact(c), exact(drawn)), factor)

		d, err := NewDiscreteGaussian(scale)
		if err != nil {
			t.Fatal(err)
		}
		rho, err := d.ZCDP(c)
		if err != nil {
			t.Fatal(err)
		}
		atLeast(t, "2 rho of the discrete", 2*rho.Rho, square(new(big.Rat).Quo(exact(math.Ceil(c)), exact(scale))),
			1+1e-15)
	})
}

// TestRoundingKeepsTheSensitivity: values c apart are rounded to lattice points at most ⌈c/spacing⌉
// spacings apart, even if both lie halfway.
func TestRoundingKeepsTheSensitivity(t *testing.T) {
	for x := -3.5; x < 4; x++ { // all halfway, 1 apart
		a, errA := lattice{}.nearest(x)
		b, errB := lattice{}.nearest(x + 1)
		if errA != nil || errB != nil || b-a != 1 {
			t.Errorf("%v and %v are rounded to %v, %v and %v, %v", x, x+1, a, errA, b, errB)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		l := lattice{rapid.UintRange(0, 12).Draw(t, "exponent")}
		value := rapid.Custom(func(t *rapid.T) float64 {
			v := rapid.Float64Range(-64, 64).Draw(t, "v")
			if rapid.Bool().Draw(t, "halfway") { // a multiple of half a spacing
				v = math.Ldexp(math.Trunc(math.Ldexp(v, int(l.exponent)+1)), -int(l.exponent)-1)
			}
			return v
		})
		x, y := value.Draw(t, "x"), value.Draw(t, "y")
		a, err := l.nearest(x)
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.nearest(y)
		if err != nil {
			t.Fatal(err)
		}
		apart := new(big.Rat).Sub(exact(x), exact(y))
		apart.Abs(apart)
		c, _ := apart.Float64()
		if exact(c).Cmp(apart) < 0 {
			c = math.Nextafter(c, math.Inf(1))
		}
		steps, err := l.steps(c)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(a-b) > steps {
			t.Fatalf("%v and %v, %v apart, are %v spacings apart, want at most %v", x, y, c, math.Abs(a-b), steps)
		}
	})
}

// directDivergence returns the Rényi divergence of order alpha between a law on the
// integers and the same moved by k, by adding up (log of the law as an argument).
func directDivergence(logLaw func(x float64) float64, k, alpha float64, last int) float64 {
	logs, most := make([]float64, 0, 2*last+1), math.Inf(-1)
	for x := -float64(last); x <= float64(last); x++ {
		l := alpha*logLaw(x) + (1-alpha)*logLaw(x-k)
		logs, most = append(logs, l), max(most, l)
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return (most + math.Log(sum)) / (alpha - 1)
}

// TestLaplaceRenyiIsTheDivergence: the closed form against the sum itself, never
// below it, and above it by no more than its bound on A allows.
func TestLaplaceRenyiIsTheDivergence(t *testing.T) {
	for _, c := range []struct{ scale, k float64 }{{1, 1}, {2, 1}, {2, 5}, {50, 10}, {100, 1}, {100, 300}} {
		for _, alpha := range []float64{1.01, 1.5, 2, 3, 8, 32} {
			h := 1 / c.scale
			norm := math.Log(math.Tanh(h / 2))
			law := func(x float64) float64 { return norm - math.Abs(x)*h }
			direct := directDivergence(law, c.k, alpha, int(60*c.scale+c.k))
			got := laplaceRenyi(c.k*h, h, alpha)
			if got < direct*(1-1e-11) {
				t.Errorf("scale %v, %v apart, order %v: %v is below the divergence %v", c.scale, c.k, alpha, got,
					direct)
			}
			// A's bound is off by less than (a·h)², which the order divides by α − 1.
			if loose := (2*alpha - 1) * h; loose < 0.2 && got > direct*(1+loose*loose/(alpha-1)) {
				t.Errorf("scale %v, %v apart, order %v: %v, divergence %v", c.scale, c.k, alpha, got, direct)
			}
		}
	}
}

// TestDiscreteGaussianDivergenceIsWithinItsPrice adds up the divergence: α·ρ is met where α·k is an
// integer (Canonne, Kamath and Steinke, Proposition 5), never exceeded.
func TestDiscreteGaussianDivergenceIsWithinItsPrice(t *testing.T) {
	for _, sigma := range []float64{0.4, 1, 3.7} {
		d, err := NewDiscreteGaussian(sigma)
		if err != nil {
			t.Fatal(err)
		}
		norm := 0.0
		for x := -100.0; x <= 100; x++ {
			norm += math.Exp(-x * x / (2 * sigma * sigma))
		}
		law := func(x float64) float64 { return -x*x/(2*sigma*sigma) - math.Log(norm) }
		for _, k := range []float64{1, 2, 5} {
			for _, alpha := range []float64{1.1, 1.5, 2, 3, 7.3} {
				r, err := d.RDP(k, alpha)
				if err != nil {
					t.Fatal(err)
				}
				direct := directDivergence(law, k, alpha, 200)
				if r[0].Epsilon < direct*(1-1e-11) {
					t.Errorf("sigma %v, %v apart, order %v: price %v, divergence %v", sigma, k, alpha, r[0].Epsilon,
						direct)
				}
				if whole := alpha * k; whole == math.Trunc(whole) && r[0].Epsilon > direct*(1+1e-9) {
					t.Errorf("sigma %v, %v apart, order %v: price %v, divergence %v", sigma, k, alpha, r[0].Epsilon,
						direct)
				}
			}
		}
	}
}
