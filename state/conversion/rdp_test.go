package conversion_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

const wide = 640

// exactExp returns e^x by its Taylor series in 640 bits, shared with nothing.
func exactExp(x *big.Float) *big.Float {
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(wide).SetFloat64(v) }
	small := new(big.Float).SetPrec(wide).SetMantExp(x, -32)
	sum, term := number(1), number(1)
	for n := 1; term.Sign() != 0 && term.MantExp(nil) > -wide; n++ {
		term.Mul(term, small)
		term.Quo(term, number(float64(n)))
		sum.Add(sum, term)
	}
	for range 32 {
		sum.Mul(sum, sum)
	}
	return sum
}

// exactRenyi returns e^((α−1)(γ−ε))·(α−1)^(α−1)/α^α at a whole order.
func exactRenyi(alpha int64, gamma, epsilon float64) *big.Float {
	exponent := new(big.Float).SetPrec(wide).SetFloat64(gamma)
	exponent.Sub(exponent, new(big.Float).SetFloat64(epsilon))
	exponent.Mul(exponent, new(big.Float).SetInt64(alpha-1))
	shape := new(big.Rat).SetFrac(new(big.Int).Exp(big.NewInt(alpha-1), big.NewInt(alpha-1), nil),
		new(big.Int).Exp(big.NewInt(alpha), big.NewInt(alpha), nil))
	delta := exactExp(exponent)
	return delta.Mul(delta, new(big.Float).SetPrec(wide).SetRat(shape))
}

func TestRDPDeltaIsTheFormulaRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alpha := rapid.Int64Range(2, 300).Draw(t, "alpha")
		gamma := rapid.Float64Range(0, 30).Draw(t, "gamma")
		epsilon := rapid.Float64Range(0, 200).Draw(t, "epsilon")
		if gamma == 0 {
			return
		}
		r := loss.RDP{{Alpha: float64(alpha), Epsilon: gamma}}
		got := must.Have(conversion.RDPToDelta(r, epsilon))
		want := exactRenyi(alpha, gamma, epsilon)
		if got < 1 && new(big.Float).SetFloat64(got).Cmp(want) < 0 {
			t.Fatalf("δ = %v is below the formula's %v", got, want.Text('g', 25))
		}
		// A formula that is within 2^-100 of a float64 may become the next one.
		above := new(big.Float).SetMantExp(want, -100)
		above.Add(want, above)
		before := new(big.Float).SetFloat64(math.Nextafter(got, 0))
		if got > 1e-307 && got < 1 && before.Cmp(above) > 0 {
			t.Fatalf("δ = %v is more than the formula's %v rounded up", got, want.Text('g', 25))
		}
	})
}

func TestRDPEpsilonIsTheLeastForItsDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alpha := rapid.Int64Range(2, 300).Draw(t, "alpha")
		gamma := rapid.Float64Range(1e-9, 30).Draw(t, "gamma")
		delta := anyDelta(t)
		r := loss.RDP{{Alpha: float64(alpha), Epsilon: gamma}}
		epsilon := must.Have(conversion.RDPToEpsilon(r, delta))
		target := new(big.Float).SetFloat64(delta)
		if exactRenyi(alpha, gamma, epsilon).Cmp(target) > 0 {
			t.Fatalf("at ε = %v the formula's δ is above %v", epsilon, delta)
		}
		if epsilon > 0 && exactRenyi(alpha, gamma, math.Nextafter(epsilon, 0)).Cmp(target) <= 0 {
			t.Fatalf("ε = %v is not the least for δ = %v", epsilon, delta)
		}
		if back, err := conversion.RDPToDelta(r, epsilon); err != nil || back > delta {
			t.Fatalf("δ = %v, ε = %v, back δ = %v, %v", delta, epsilon, back, err)
		}
	})
}

func anyDelta(t *rapid.T) float64 {
	return max(budgets.MinDelta, math.Pow(10, rapid.Float64Range(-300, -0.5).Draw(t, "log delta")))
}

// A Gaussian's exact curve is the truth that its Rényi curve may not flatter; the best
// real order is what package budgets takes for zCDP.
func TestRDPOfAGaussianIsAboveItsTruthAndMeetsZCDPAtTheBestOrder(t *testing.T) {
	deltas, mus := []float64{1e-1, 1e-6, 1e-17, 1e-100, 1e-300}, []float64{1e-4, 0.1, 1, 10}
	if !long.On() {
		deltas, mus = deltas[1:2], mus[1:3]
	}
	for _, mu := range mus {
		var orders []float64
		for s := -12.0; s < 16; s += 1.0 / 64 {
			orders = append(orders, 1+math.Exp(s))
		}
		r := must.Have(conversion.GDPToRDP(loss.GDP{Mu: mu}, orders))
		for _, delta := range deltas {
			truth, err1 := conversion.GDPToEpsilon(loss.GDP{Mu: mu}, delta)
			zcdp, err2 := conversion.ApproxZCDPToEpsilon(loss.ZCDP{Rho: mu * mu / 2}, delta)
			rdp, err3 := conversion.RDPToEpsilon(r, delta)
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			if !(truth <= zcdp && zcdp <= rdp*(1+1e-12) && rdp <= zcdp*(1+1e-3)) {
				t.Errorf("μ = %v, δ = %v: truth %v, zCDP %v, RDP %v", mu, delta, truth, zcdp, rdp)
			}
		}
	}
}

func TestRDPAtTheEndsOfItsDomain(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		r              loss.RDP
		epsilon, delta float64 // ε at δ = 1e-5, and δ at ε = 1
	}{
		{loss.RDP{{Alpha: 2, Epsilon: inf}}, inf, 1},
		{loss.RDP{{Alpha: 2, Epsilon: 0}, {Alpha: 3, Epsilon: inf}}, 0, 0},
		{loss.RDP{{Alpha: math.MaxFloat64, Epsilon: 0.5}}, 0.5, math.SmallestNonzeroFloat64},
		{loss.RDP{{Alpha: math.MaxFloat64, Epsilon: math.MaxFloat64}}, inf, 1},
	} {
		epsilon, err := conversion.RDPToEpsilon(c.r, 1e-5)
		if err != nil || math.Abs(epsilon-c.epsilon) > 1e-12*c.epsilon || epsilon < c.epsilon {
			if !(math.IsInf(epsilon, 1) && math.IsInf(c.epsilon, 1)) {
				t.Errorf("%v: ε = %v, %v; want %v", c.r, epsilon, err, c.epsilon)
			}
		}
		if delta, err := conversion.RDPToDelta(c.r, 1); err != nil || delta != c.delta {
			t.Errorf("%v: δ = %v, %v; want %v", c.r, delta, err, c.delta)
		}
	}
	// An order next to 1 bounds almost nothing, and is not an error.
	r := loss.RDP{{Alpha: math.Nextafter(1, 2), Epsilon: 1e-300}}
	if delta, err := conversion.RDPToDelta(r, budgets.MaxEpsilon); err != nil || !(delta > 0.999 && delta <= 1) {
		t.Errorf("order 1 + 2^-52: δ = %v, %v", delta, err)
	}
}
