package conversion_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// achieved returns p − e^ε·q for the event of probability q on one side whose p on the
// other is the greatest that a divergence of γ at a whole order allows, in wide
// arithmetic: a pair that has the guarantee, so that δ cannot be less.
func achieved(alpha int64, gamma, epsilon, logQ float64) float64 {
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(wide).SetFloat64(v) }
	fresh := func() *big.Float { return new(big.Float).SetPrec(wide) }
	power := func(x *big.Float, n int64) *big.Float {
		y := number(1)
		for range n {
			y.Mul(y, x)
		}
		return y
	}
	most := fresh().Set(exactExp(number(gamma * float64(alpha-1))))
	q := fresh().Set(exactExp(number(logQ)))
	rest := fresh().Sub(number(1), q)
	fits := func(p *big.Float) bool {
		inside := fresh().Quo(power(p, alpha), power(q, alpha-1))
		outside := fresh().Quo(power(fresh().Sub(number(1), p), alpha), power(rest, alpha-1))
		return inside.Add(inside, outside).Cmp(most) <= 0
	}
	low, high := fresh().Set(q), number(1)
	if fits(high) {
		low = high
	}
	for range 120 {
		middle := fresh().Add(low, high)
		middle.Mul(middle, number(0.5))
		if fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	low.Sub(low, q.Mul(q, exactExp(number(epsilon))))
	f, _ := low.Float64()
	return f
}

// mostAchieved maximises over q by golden section on a grid's best cell.
func mostAchieved(alpha int64, gamma, epsilon float64) float64 {
	of := func(s float64) float64 { return achieved(alpha, gamma, epsilon, s) }
	at, best := 0.0, math.Inf(-1)
	for s := -0.01; s > -40; s *= 1.6 {
		if v := of(s); v > best {
			at, best = s, v
		}
	}
	a, b := at*1.6, at/1.6
	const golden = 0.6180339887498949
	for range 26 {
		x, y := b-golden*(b-a), a+golden*(b-a)
		if of(x) > of(y) {
			b = y
		} else {
			a = x
		}
	}
	return max(best, of((a+b)/2))
}

func TestOptimalRDPIsAchievedByAPairThatHasTheGuarantee(t *testing.T) {
	cases := []struct {
		alpha          int64
		gamma, epsilon float64
	}{
		{2, 0.1, 0.3}, {20, 0.1, 0.3}, {2, 0.1, 0}, {3, 1e-3, 0.05}, {7, 0.5, 1.5}, {20, 0.1, 0.01}, {32, 0.02, 0.2}, {5, 1.1, 1},
	}
	if testing.Short() {
		cases = cases[:1]
	}
	for _, c := range cases {
		r := loss.RDP{{Alpha: float64(c.alpha), Epsilon: c.gamma}}
		optimal, err1 := conversion.OptimalRDPToDelta(r, c.epsilon)
		simple, err2 := conversion.RDPToDelta(r, c.epsilon)
		least := mostAchieved(c.alpha, c.gamma, c.epsilon)
		if err1 != nil || err2 != nil || !(least <= optimal && optimal <= least*(1+1e-7) && optimal <= simple) {
			t.Errorf("order %d, γ = %v, ε = %v: δ = %v, a pair has %v, Lemma C.4 says %v; %v %v",
				c.alpha, c.gamma, c.epsilon, optimal, least, simple, err1, err2)
		}
	}
}

// Where the optimal event is certain, δ is 1 − e^(ε−γ): Q spread over e^(γ−ε)-fold.
func TestOptimalRDPOfACertainEvent(t *testing.T) {
	r := loss.RDP{{Alpha: 1000, Epsilon: 1}}
	delta, err := conversion.OptimalRDPToDelta(r, 0.25)
	want := -math.Expm1(-0.75)
	if err != nil || math.Abs(delta-want) > 1e-15 {
		t.Errorf("δ = %v, %v; want %v", delta, err, want)
	}
	epsilon, err := conversion.OptimalRDPToEpsilon(r, want)
	if err != nil || math.Abs(epsilon-0.25) > 1e-14 {
		t.Errorf("ε = %v, %v; want 0.25", epsilon, err)
	}
	if simple, err := conversion.RDPToEpsilon(r, want); err != nil || simple < 0.99 {
		t.Errorf("Lemma C.4: ε = %v, %v", simple, err)
	}
}

// The truth of a mechanism that has the curve is below, Lemma C.4 above.
func TestOptimalRDPNeverFlattersAndIsNeverWorse(t *testing.T) {
	deltas := []float64{0.1, 1e-6, 1e-40, 1e-300}
	mus, alphas := []float64{1e-9, 1e-4, 0.1, 1, 6}, []float64{1.002, 1.9, 12.5, 800, 1e10}
	if testing.Short() {
		deltas, mus, alphas = deltas[1:2], mus[2:4], alphas[1:3]
	}
	for _, mu := range mus {
		for _, alpha := range alphas {
			r, err := conversion.GDPToRDP(loss.GDP{Mu: mu}, []float64{alpha})
			if err != nil {
				t.Fatal(err)
			}
			for _, delta := range deltas {
				truth, err1 := conversion.GDPToEpsilon(loss.GDP{Mu: mu}, delta)
				optimal, err2 := conversion.OptimalRDPToEpsilon(r, delta)
				simple, err3 := conversion.RDPToEpsilon(r, delta)
				if err := errors.Join(err1, err2, err3); err != nil || !(truth <= optimal && optimal <= simple) {
					t.Errorf("μ = %v, order %v, δ = %v: truth %v, optimal %v, Lemma C.4 %v; %v", mu, alpha, delta, truth, optimal, simple, err)
				}
				if optimal > budgets.MaxEpsilon || optimal < 1e-9 {
					continue
				}
				back, err := conversion.OptimalRDPToDelta(r, optimal)
				if err != nil || !(back <= delta*(1+1e-6)) {
					t.Errorf("μ = %v, order %v: ε = %v for δ = %v has δ = %v, %v", mu, alpha, optimal, delta, back, err)
				}
			}
		}
	}
}

func TestOptimalRDPOfPureIsBelowItsEpsilon(t *testing.T) {
	// ε₀-DP at one high order: the (ε, δ) curve of randomised response is the truth.
	for _, pure := range []float64{0.1, 1, 5} {
		r, err1 := conversion.PureToRDP(pure, []float64{1.5, 2, 4, 16, 64, 256})
		f, err2 := conversion.FromApprox(loss.Approx{Epsilon: pure})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		for _, share := range []float64{0, 0.3, 0.9, 1.5} {
			optimal, err1 := conversion.OptimalRDPToDelta(r, share*pure)
			truth, err2 := f.ToDelta(share * pure)
			if err1 != nil || err2 != nil || optimal < truth {
				t.Errorf("ε₀ = %v at %v: δ = %v, %v; truth %v, %v", pure, share*pure, optimal, err1, truth, err2)
			}
		}
	}
}
