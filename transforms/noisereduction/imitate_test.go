package noisereduction

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Releases and imitations have one law: how often a key passes, how often the target is met, the
// mean and the spread of the error, and the mean price.
func TestImitationsHaveTheLawOfReleases(t *testing.T) {
	delta, err := units.DeltaFromFloat(1e-4)
	if err != nil {
		t.Fatal(err)
	}
	private := &Private{Contribution: 2, DeltaKey: delta}
	target := Target{Relative: .1, Confidence: .95}
	floor := Target{Relative: .1, Absolute: 90, Confidence: .95}
	for name, s := range map[string]Spec{
		"public":    {Kind: Adaptive, First: precision(t, 1e5), Top: precision(t, 20), Target: target},
		"private":   {Kind: Adaptive, First: precision(t, 40), Top: precision(t, 20), Target: target, Private: private},
		"floor":     {Kind: Adaptive, First: precision(t, 1e4), Top: precision(t, 20), Target: floor},
		"geometric": {Kind: Geometric, Factor: 2, First: precision(t, 1e4), Top: precision(t, 20), Target: target},
		"no target": {Kind: Adaptive, First: precision(t, 1e4), Top: precision(t, 20), Target: Target{Confidence: .95}},
	} {
		p := compile(t, s)
		random := rand.New(runseed.PCG(t, 7, 7))
		id := testIdentity()
		for _, count := range []int64{0, 140, 170, 400, 3000} {
			const n = 4000
			var real, mimed [5][]float64
			for i := range n {
				id.WindowStart = count*n + int64(i)
				r, err := p.Release(testKey(), id, count)
				if err != nil {
					t.Fatal(err)
				}
				o := p.Imitate(float64(count), random.NormFloat64)
				wrong, half := 0.0, 0.0
				if r.Passed {
					wrong, half = math.Ldexp(float64(r.Value), -valueBits)-float64(count), (r.High-r.Low)/2
				}
				for j, v := range [5][2]float64{
					{truth(r.Passed), truth(o.Passed)}, {truth(r.Met), truth(o.Met)}, {wrong, o.Error}, {half, o.Half},
					{r.Precision.Float(), o.Precision.Float()},
				} {
					real[j], mimed[j] = append(real[j], v[0]), append(mimed[j], v[1])
				}
			}
			for j, what := range []string{"passed", "met", "error", "half", "precision"} {
				// 125 comparisons in all: one of them is beyond by chance in 10^6 runs of the test.
				if z := difference(real[j], mimed[j]); math.Abs(z) > 5.8 {
					t.Errorf("%s at %d: %s of imitations is %.1f standard errors away", name, count, what, z)
				}
			}
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// difference returns how many standard errors lie between two means.
func difference(a, b []float64) float64 {
	moments := func(x []float64) (mean, variance float64) {
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for _, v := range x {
			variance += (v - mean) * (v - mean) / float64(len(x)*(len(x)-1))
		}
		return mean, variance
	}
	ma, va := moments(a)
	mb, vb := moments(b)
	if math.Abs(ma-mb) < 1e-9*(1+math.Abs(ma)) {
		return 0
	}
	return (mb - ma) / math.Sqrt(va+vb)
}
