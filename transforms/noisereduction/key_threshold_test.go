package noisereduction

import (
	"math"
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/state/units"
)

func private(t testing.TB, contribution uint64, delta float64) *Private {
	t.Helper()
	d, err := units.DeltaFromFloat(delta)
	if err != nil {
		t.Fatal(err)
	}
	return &Private{Contribution: contribution, DeltaKey: d}
}

func TestRuleThresholdUsesContribution(t *testing.T) {
	for _, test := range []struct {
		contribution uint64
		sigma, delta float64
		want         float64
	}{
		{1, 20, 1e-11, 1 + 20*6.706023155495136},
		{10, 20, 1e-11, 1 + 20*6.706023155495136},
		{20, 5, 1e-10 / 400, 20 + 5*6.361340902404056},
		{1, 20, 1e-17, 1 + 20*8.493793224109598}, // where Erfcinv is infinite
	} {
		p := compile(t, Spec{
			Kind: Adaptive, First: precision(t, test.sigma), Top: precision(t, 1),
			Target: Target{Relative: .05, Confidence: .95}, Private: private(t, test.contribution, test.delta),
		})
		// Rounded up to the lattice of the first rung, by less than a point of it.
		if tau := p.Threshold(); tau < test.want || tau > test.want+0x1p-10+1e-6 {
			t.Errorf("C = %d, σ₁ = %v, δ = %g: τ = %.6f, want %.6f rounded up", test.contribution, test.sigma,
				test.delta, tau, test.want)
		}
	}
}

// TestRuleAPassCostsItsDelta: whatever a user adds to a key, the key passes alone with probability
// c²·δ at most, and for some c nearly with that.
func TestRuleAPassCostsItsDelta(t *testing.T) {
	for _, sigma := range []float64{1, 3, 20, 400} {
		for _, most := range []uint64{1, 2, 7, 60, 500} {
			for _, delta := range []float64{1e-4, 1e-9, 1e-20} {
				if delta*float64(most*most) > 0.25 {
					continue
				}
				p := compile(t, Spec{Kind: Adaptive, First: precision(t, sigma), Top: precision(t, sigma),
					Target: Target{Relative: .05, Confidence: .95}, Private: private(t, most, delta)})
				nearest := 0.0
				for c := uint64(1); c <= most; c++ {
					pass := math.Erfc((p.Threshold()-float64(c))/sigma/math.Sqrt2) / 2
					nearest = max(nearest, pass/(float64(c*c)*delta))
				}
				if nearest > 1+1e-9 || nearest < 0.95 {
					t.Errorf("σ %v, up to %d, δ %v: the dearest pass is %v of what is paid", sigma, most, delta,
						nearest)
				}
			}
		}
	}
}

func TestPublicKeysHaveNoThreshold(t *testing.T) {
	p := compile(t, Spec{Kind: Adaptive, First: precision(t, 20), Top: precision(t, 1), Target: Target{Relative: .05,
		Confidence: .95}})
	if !math.IsInf(p.Threshold(), -1) {
		t.Errorf("threshold is %v", p.Threshold())
	}
	if r, err := p.Release(testKey(), testIdentity(), 0); err != nil || !r.Passed {
		t.Errorf("released %+v, %v", r, err)
	}
}

// TestKeyOfOneUserPassesAtRateDelta: false-reject rate 2e-8, if the noise's format changes.
func TestKeyOfOneUserPassesAtRateDelta(t *testing.T) {
	const delta = 0.01
	p := compile(t, Spec{
		Kind: Adaptive, First: precision(t, 20), Top: precision(t, 20),
		Target: Target{Relative: .05, Confidence: .95}, Private: private(t, 1, delta),
	})
	n, passed := chance.Trials(300_000), 0
	id := testIdentity()
	for i := range n {
		id.WindowStart = int64(i)
		r, err := p.Release(testKey(), id, 1)
		if err != nil {
			t.Fatal(err)
		}
		if r.Passed {
			passed++
		}
	}
	chance.CheckRate(t, "passes", passed, n, delta)
}

// TestRuleThresholdFirstRungOnly: the first rung's draw alone decides whether a key passes. A key
// below the threshold pays the first rung and releases nothing; one above continues whatever later
// rungs draw.
func TestRuleThresholdFirstRungOnly(t *testing.T) {
	p := compile(t, Spec{
		Kind: Adaptive, First: precision(t, 20), Top: precision(t, .2),
		Target: Target{Relative: .05, Confidence: .95}, Private: private(t, 1, 1e-3),
	})
	id := testIdentity()
	var s Sampler
	below, fell := 0, 0
	for i := range 2000 {
		id.WindowStart = int64(i)
		const count = 60
		r, err := p.Release(testKey(), id, count)
		if err != nil {
			t.Fatal(err)
		}
		y, exponent, err := s.Draw(testKey(), id, 1, units.Precision{}, p.First(), count)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := y.Float64()
		first = math.Ldexp(first, -int(exponent))
		if r.Passed != (first > p.Threshold()) {
			t.Fatalf("passed is %v with a first rung of %v against %v", r.Passed, first, p.Threshold())
		}
		if !r.Passed {
			below++
			if want := (Result{Precision: p.First(), Rungs: 1}); r != want {
				t.Fatalf("a key below the threshold released %+v", r)
			}
		} else if math.Ldexp(float64(r.Value), -valueBits) < p.Threshold() {
			fell++
		}
	}
	if below == 0 || fell == 0 {
		t.Errorf("%d keys stayed below, %d passed and ended below the threshold: both should occur", below, fell)
	}
	y, exponent, err := s.Draw(testKey(), id, 1, units.Precision{}, p.First(), 60)
	if err != nil || exponent != p.threshold.exponent {
		t.Fatal(exponent, err)
	}
	for over := range int64(2) { // a first rung at the threshold does not pass, one by a point above does
		p.threshold.limit = new(big.Int).Sub(y, big.NewInt(over))
		if r, err := p.Release(testKey(), id, 60); err != nil || r.Passed != (over == 1) {
			t.Errorf("a first rung by %d above the threshold: passed %v, %v", over, r.Passed, err)
		}
	}
}
