package pld_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// The δ of one step by direct integration in Python with mpmath 1.4.1, 50 digits
// (testdata/sampled.py): Laplace noise in both directions, and Gaussian noise without replacement.
func TestSampledPairsDominateTheIntegral(t *testing.T) {
	for _, c := range []struct {
		pair      pld.Pair
		direction pld.Direction
		epsilon   float64
		want      float64
	}{
		{pld.Sampled{Pair: pld.Laplace{Scale: 1}, Sampling: 0.1}, pld.Remove, 0.05, 0.025401389825142777395},
		{pld.Sampled{Pair: pld.Laplace{Scale: 1}, Sampling: 0.1}, pld.Add, 0.05, 0.0082179483508462203192},
		{pld.Sampled{Pair: pld.Laplace{Scale: 1}, Sampling: 0.1}, pld.Remove, 0.1, 0.013121830885831266103},
		{pld.Sampled{Pair: pld.Laplace{Scale: 1}, Sampling: 0.1}, pld.Add, 0.1, 0},
		{pld.Sampled{Pair: pld.Laplace{Scale: 0.5}, Sampling: 0.3}, pld.Remove, 0.3, 0.13756648210381044838},
		{pld.Sampled{Pair: pld.Laplace{Scale: 0.5}, Sampling: 0.3}, pld.Add, 0.3, 0.00014708506056663457498},
		{pld.Sampled{Pair: pld.Laplace{Scale: 2}, Sampling: 0.5}, pld.Remove, 0, 0.11059960846429756588},
		{pld.Sampled{Pair: pld.Laplace{Scale: 2}, Sampling: 0.5}, pld.Add, 0, 0.11059960846429756588},
		{pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 1}, Sampling: 0.1}, pld.Remove, 0, 0.038292492254802622853},
		{pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 1}, Sampling: 0.1}, pld.Add, 0.3, 0.0056313495334752600653},
		{pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 0.5}, Sampling: 0.5}, pld.Remove, 1, 0.21049559428487342691},
		{pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 2}, Sampling: 0.01}, pld.Add, 0.05, 4.2427909052289053524e-7},
		{pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 3}, Sampling: 0.9}, pld.Remove, 0.2, 0.050794654967580633384},
	} {
		grid := must.Have(pld.Cover(c.pair, c.direction, 0x1p-14, 1e-20))
		v := must.Have(pld.Discretize(c.pair, c.direction, grid))
		if got := hockeyStick(v, c.epsilon); !(got >= c.want*(1-1e-15)) || got > c.want*(1+1e-4)+1e-12 {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// Laplace and discrete Gaussian noise on Poisson samples by dp_accounting 0.6.0 at a discretisation
// of 1e-5: it connects the dots of the first, as is done here on a coarser grid, and rounds every
// loss of the second up to the next point, so that it is above by up to count·1e-5. Without
// replacement by a second algorithm, a Fourier transform in numpy of losses rounded down and up
// to 2e-5 (testdata/sampled.py), between which the truth is.
func TestSampledCompositionsAreThoseOfOthers(t *testing.T) {
	for _, c := range []struct {
		pair      pld.Pair
		count     int
		low, high float64
	}{
		{pld.Sampled{Pair: pld.Laplace{Scale: 2}, Sampling: 0.1}, 10, 0.5863133, 0.5863153},
		{pld.Sampled{Pair: pld.Laplace{Scale: 1}, Sampling: 0.05}, 100, 2.1832512, 2.1832552},
		{pld.Sampled{Pair: pld.Laplace{Scale: 0.5}, Sampling: 0.3}, 4, 4.2811757, 4.2811777},
		{pld.Sampled{Pair: pld.DiscreteGaussian{Sigma: 4, Sensitivity: 1}, Sampling: 0.1}, 100, 1.1314114, 1.1324115},
		{pld.Sampled{Pair: pld.DiscreteGaussian{Sigma: 2, Sensitivity: 1}, Sampling: 0.2}, 10, 1.9022688, 1.9023689},
		{pld.Sampled{Pair: pld.DiscreteGaussian{Sigma: 10, Sensitivity: 5}, Sampling: 0.05}, 50, 0.9197611, 0.9202612},
		{pld.Sampled{Pair: pld.DiscreteGaussian{Sigma: 1, Sensitivity: 1}, Sampling: 0.01}, 200, 1.1505894, 1.1525895},
		{pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 2}, Sampling: 0.01}, 1000, 0.8231114, 0.8311746},
		{pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 1}, Sampling: 0.1}, 20, 4.4269277, 4.4272209},
		{pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 4}, Sampling: 0.05}, 200, 0.8157032, 0.8193418},
	} {
		got := must.Have(must.Have(must.Have(pld.New(c.pair,
			pld.Options{MinDelta: 1e-12})).Power(c.count)).EpsilonAt(1e-6))
		if !(got >= c.low && got <= c.high) {
			t.Errorf("%+v, %d times: %v, want between %v and %v", c.pair, c.count, got, c.low, c.high)
		}
	}
}

// Both inputs of a replacement look alike: δ(−ε) = 1 − e^−ε·(1 − δ(ε)), and at ε ≥ 0 the curve is
// the Poisson sample's with the individual.
func TestReplacementIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp(rapid.Float64Range(-0.5, 2).Draw(t, "log sigma"))
		q := math.Exp(rapid.Float64Range(-5, -0.01).Draw(t, "log q"))
		const interval = 0x1p-10
		epsilon := math.Round(rapid.Float64Range(0, 2).Draw(t, "epsilon")/interval) * interval
		g := pld.Gaussian{Sigma: sigma}
		delta := func(p pld.Pair, epsilon float64) float64 {
			grid := must.Have(pld.Cover(p, pld.Remove, interval, 1e-14))
			v := must.Have(pld.Discretize(p, pld.Remove, grid))
			return hockeyStick(v, epsilon)
		}
		w := pld.WithoutReplacement{Pair: g, Sampling: q}
		forward, backward := delta(w, epsilon), delta(w, -epsilon)
		poisson := delta(pld.SubsampledGaussian{Sigma: sigma, Sampling: q}, epsilon)
		if math.Abs(forward-poisson) > 1e-9*poisson+1e-12 {
			t.Fatalf("sigma %v, q %v at %v: %v, on a Poisson sample %v", sigma, q, epsilon, forward, poisson)
		}
		if want := 1 - math.Exp(-epsilon)*(1-forward); math.Abs(backward-want) > 1e-9 {
			t.Fatalf("sigma %v, q %v at %v: %v, want %v", sigma, q, -epsilon, backward, want)
		}
	})
}

// An adversary runs a sampled mechanism 3·10⁵ times on both inputs, guesses by the likelihood ratio
// and so shows a δ: P(guess) − e^ε·Q(guess), less 6 standard deviations. It stays below the claim
// (wrong with a probability below 1e-8 a case) and above 60% of it, and refutes a claim made for
// half of the sample.
func TestAttackOnSampledMechanisms(t *testing.T) {
	const runs, q = 300_000, 0.4
	draw := rand.New(runseed.PCG(t, 3, 5))
	laplace := func() float64 { return draw.ExpFloat64() - draw.ExpFloat64() }
	for _, c := range []struct {
		name    string
		pair    func(q float64) pld.Pair
		noise   func() float64
		ratio   func(x float64) float64 // ratio of the noise around 1 to the noise around 0
		count   int
		epsilon float64
	}{
		{
			"laplace", func(q float64) pld.Pair { return pld.Sampled{Pair: pld.Laplace{Scale: 1}, Sampling: q} },
			laplace,
			func(x float64) float64 { return math.Exp(math.Abs(x) - math.Abs(x-1)) }, 3, 0.5,
		},
		{
			"discrete gaussian",
			func(q float64) pld.Pair {
				return pld.Sampled{Pair: pld.DiscreteGaussian{Sigma: 1, Sensitivity: 1}, Sampling: q}
			},
			discreteNoise(draw), func(x float64) float64 { return math.Exp(x - 0.5) }, 3, 0.5,
		},
		{
			"without replacement",
			func(q float64) pld.Pair { return pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 1}, Sampling: q} },
			draw.NormFloat64, func(x float64) float64 { return math.Exp(x - 0.5) }, 1, 0.3,
		},
	} {
		shown := 0.0
		for _, sign := range []float64{1, -1} { // the adversary guesses either way round
			var with, without float64
			for range runs {
				for _, present := range []bool{true, false} {
					loss := 0.0
					for range c.count {
						x := c.noise()
						if present && draw.Float64() < q {
							x++
						}
						loss += math.Log(1 - q + q*c.ratio(x))
					}
					if sign*loss > c.epsilon {
						if present == (sign > 0) {
							with++
						} else {
							without++
						}
					}
				}
			}
			e := math.Exp(c.epsilon)
			shown = max(shown, (with-e*without-6*math.Sqrt(with+e*e*without))/runs)
		}
		claimed := must.Have(must.Have(must.Have(pld.New(c.pair(q),
			pld.Options{MinDelta: 1e-12})).Power(c.count)).DeltaAt(c.epsilon))
		broken := must.Have(must.Have(must.Have(pld.New(c.pair(q/2),
			pld.Options{MinDelta: 1e-12})).Power(c.count)).DeltaAt(c.epsilon))
		t.Logf("%s: shown %.5f, claimed %.5f, for half of the sample %.5f", c.name, shown, claimed, broken)
		if shown > claimed || shown < 0.6*claimed {
			t.Errorf("%s: shown %v, claimed %v", c.name, shown, claimed)
		}
		if shown <= broken {
			t.Errorf("%s: shown %v does not refute %v, for half of the sample", c.name, shown, broken)
		}
	}
}

// discreteNoise draws discrete Gaussian noise of σ = 1: integers by rejection from a Laplace law.
func discreteNoise(draw *rand.Rand) func() float64 {
	return func() float64 {
		for {
			x := math.Floor(draw.ExpFloat64()) - math.Floor(draw.ExpFloat64()) // ∝ e^−|x|
			if draw.Float64() < math.Exp(-(math.Abs(x)-1)*(math.Abs(x)-1)/2) {
				return x
			}
		}
	}
}

func TestSampledPairsRefuseWhatIsOutOfRange(t *testing.T) {
	for name, p := range map[string]pld.Pair{
		"sampling": pld.Sampled{Pair: pld.Laplace{Scale: 1}, Sampling: math.NaN()},
		"scale":    pld.Sampled{Pair: pld.Laplace{}, Sampling: 0.5},
		"sigma":    pld.WithoutReplacement{Pair: pld.Gaussian{}, Sampling: 0.5},
		"pair":     pld.WithoutReplacement{Pair: pld.SubsampledGaussian{Sigma: 1, Sampling: 0.5}, Sampling: 0.5},
	} {
		wantRange(t, p.Validate(), name)
	}
	wantRange(t, pld.Sampled{Sampling: 0.5}.Validate(), "pair")
	wantRange(t, pld.WithoutReplacement{Pair: pld.Gaussian{Sigma: 1}}.Validate(), "sampling")
}
