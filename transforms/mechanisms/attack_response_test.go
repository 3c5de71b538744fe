package mechanisms_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// binary is a mechanism that outputs yes with probability p on the value 1 and q on 0. Among
// mechanisms of a given Rényi divergence it can leak the most at one ε: more than noise, which
// divergences describe too well.
type binary struct{ p, q float64 }

func (b binary) run(secret float64, src mechanisms.Source) float64 {
	yes := b.q
	if secret == 1 {
		yes = b.p
	}
	if unit(src) < yes {
		return math.Log(b.p / b.q)
	}
	return math.Log((1 - b.p) / (1 - b.q))
}

// divergence returns the Rényi divergence of order alpha, the larger of the directions.
func (b binary) divergence(alpha float64) float64 {
	one := func(p, q float64) float64 {
		yes := alpha*math.Log(p) + (1-alpha)*math.Log(q)
		no := alpha*math.Log1p(-p) + (1-alpha)*math.Log1p(-q)
		most := max(yes, no)
		return (most + math.Log(math.Exp(yes-most)+math.Exp(no-most))) / (alpha - 1)
	}
	return max(one(b.p, b.q), one(b.q, b.p))
}

// rho bounds the zCDP parameter: the greatest D_α/α over orders 2^(1/8) apart in α − 1,
// with what lies between allowed for.
func (b binary) rho() float64 {
	most := 0.0
	for k := -96.0; k <= 64; k++ {
		alpha := 1 + math.Exp2(k/8)
		most = max(most, b.divergence(alpha)/alpha)
	}
	return most * 1.005
}

// strongestBinary returns the one within a budget that shows the greatest ε at delta.
func strongestBinary(delta float64, within func(binary) bool) binary {
	var best binary
	most := math.Inf(-1)
	for k := 1; k < 50; k++ {
		p := delta + (1-delta)*float64(k)/50
		low, high := 0.0, p
		for range 30 {
			if mid := (low + high) / 2; within(binary{p, mid}) {
				high = mid
			} else {
				low = mid
			}
		}
		if shown := math.Log((p - delta) / high); shown > most {
			best, most = binary{p, high}, shown
		}
	}
	return best
}

// TestBinaryPricesCoverTheDivergence looks at more orders than rho does.
func TestBinaryPricesCoverTheDivergence(t *testing.T) {
	for _, b := range []binary{{0.3, 0.08}, {0.9, 0.5}, {0.06, 0.018}} {
		rho := b.rho()
		for k := -1000.0; k <= 600; k += 3 {
			alpha := 1 + math.Exp2(k/77)
			if d := b.divergence(alpha); d > alpha*rho {
				t.Errorf("%v: divergence %v of order %v is above rho %v", b, d, alpha, rho)
			}
		}
	}
}

func binaryZCDP(rho, delta float64) offer[loss.ZCDP] {
	b := strongestBinary(delta, func(b binary) bool { return b.rho() <= rho })
	return offer[loss.ZCDP]{loss.ZCDP{Rho: b.rho()}, b.run}
}

// binaryRDP returns the strongest binary response within a Rényi curve.
func binaryRDP(curve loss.RDP, delta float64) offer[loss.RDP] {
	price := func(b binary) loss.RDP {
		r := make(loss.RDP, len(curve))
		for i, o := range curve {
			r[i] = loss.Order{Alpha: o.Alpha, Epsilon: b.divergence(o.Alpha) * (1 + 1e-12)}
		}
		return r
	}
	b := strongestBinary(delta, func(b binary) bool {
		for i, o := range price(b) {
			if o.Epsilon > curve[i].Epsilon {
				return false
			}
		}
		return true
	})
	return offer[loss.RDP]{price(b), b.run}
}
