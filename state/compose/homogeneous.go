package compose

import (
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// maxResponses is the maximum number of losses to add up, which takes a tenth of a second.
const maxResponses = 20_000

// byHomogeneous computes the optimal composition of k mechanisms that are all (ε, δ)-DP with the
// same ε and δ (Kairouz, Oh and Viswanath, 2015, Theorem 3.3). The advanced composition of Rogers
// et al. (2016, Theorem 2.10) is a closed-form bound on it. Each mechanism is a post-processing of
// randomised response with ε that openly fails with probability δ. With probability (1−δ)^k, none
// of the k mechanisms fails. The loss is then (k−2l)·ε with probability p_l =
// C(k,l)·e^((k−l)ε)/(1+e^ε)^k, so
//
//	δ' = Σ_(l: (k−2l)ε > ε') p_l·(1 − e^(ε'−(k−2l)ε)), and in total 1 − (1−δ)^k·(1−δ').
func byHomogeneous(list []Mechanism, q Question) (float64, error) {
	count := 0
	for _, m := range list {
		if m.fixed == nil || *m.fixed != *list[0].fixed {
			return 0, notApplicable("not all mechanisms have the same epsilon and delta")
		}
		count += m.count
	}
	if count > maxResponses {
		return 0, notApplicable("it adds losses one by one, for at most %d mechanisms", maxResponses)
	}
	each := *list[0].fixed
	if err := units.Require(each.Epsilon <= budgets.MaxEpsilon/float64(count), "epsilon", each.Epsilon,
		"such that k·epsilon is at most 1e6"); err != nil {
		return 0, err
	}
	fails := failsOnce(each, count)
	one := bigmath.New(1)
	works := bigmath.Zero().Sub(one, fails)
	if works.Sign() <= 0 {
		return 0, notApplicable("the deltas of eps-delta mechanisms add up to 1 or more")
	}
	r := newResponses(each.Epsilon, count)
	if q.forDelta {
		rest := r.deltaAt(q.epsilon)
		rest.Mul(rest, works)
		return bigmath.RoundUp(rest.Add(rest, fails)), nil
	}
	rest := bigmath.Zero().Sub(bigmath.New(q.delta), fails)
	if rest.Sign() < 0 {
		return 0, notApplicable("the deltas of eps-delta mechanisms add up to more than delta")
	}
	return r.epsilonAt(rest.Quo(rest, works)), nil
}

// failsOnce returns 1 − (1−δ)^k or, if that is less, k·δ, rounded up.
func failsOnce(each loss.Approx, count int) *big.Float {
	one := bigmath.New(1)
	all := bigmath.Zero().Sub(one, bigmath.Power(bigmath.Zero().Sub(one, bigmath.New(each.Delta)), count))
	all.Add(all, bigmath.Zero().SetMantExp(one, -300))
	if sum := bigmath.New(rounding.ProductUp(each.Delta, float64(count))); sum.Cmp(all) < 0 {
		return sum
	}
	return all
}

// responses enumerates the losses of k randomised responses with ε, from the greatest downward. Its
// sums have a relative error below 2^-300, as they have at most maxResponses positive terms.
type responses struct {
	epsilon   float64
	count, l  int
	q, factor *big.Float // C(k,l)·e^(lε)/(1+e^ε)^k and e^((k−2l)ε): p_l = q·factor
	ps, qs    *big.Float // sums of p and q over the losses before l
	up, down  *big.Float // e^ε and e^−2ε
}

func newResponses(epsilon float64, count int) *responses {
	r := &responses{epsilon: epsilon, count: count, ps: bigmath.Zero(), qs: bigmath.Zero()}
	r.up, r.down = bigmath.Exp(bigmath.New(epsilon)), bigmath.Exp(bigmath.New(-2*epsilon))
	r.factor = bigmath.Exp(bigmath.Zero().Mul(bigmath.New(epsilon), bigmath.New(float64(count))))
	all := bigmath.Zero().Add(r.up, bigmath.New(1))
	r.q = bigmath.Zero().Quo(bigmath.New(1), bigmath.Power(all, count))
	return r
}

// next adds the terms of loss l to the sums and moves to the next lower loss.
func (r *responses) next() {
	r.ps.Add(r.ps, bigmath.Zero().Mul(r.q, r.factor))
	r.qs.Add(r.qs, r.q)
	r.q.Mul(r.q, r.up)
	r.q.Mul(r.q, bigmath.New(float64(r.count-r.l)))
	r.l++
	r.q.Quo(r.q, bigmath.New(float64(r.l)))
	r.factor.Mul(r.factor, r.down)
}

// loss returns the current loss (k−2l)·ε, rounded up.
func (r *responses) loss() float64 { return rounding.ProductUp(float64(r.count-2*r.l), r.epsilon) }

// deltaAt returns δ' at ε', rounded up. It is Σ p − e^ε'·Σ q over the losses above ε'.
func (r *responses) deltaAt(epsilon float64) *big.Float {
	for r.l <= r.count {
		loss := bigmath.Zero().Mul(bigmath.New(float64(r.count-2*r.l)), bigmath.New(r.epsilon)) // exact
		if loss.Cmp(bigmath.New(epsilon)) <= 0 {
			break
		}
		r.next()
	}
	return r.delta(bigmath.Exp(bigmath.New(epsilon)))
}

func (r *responses) delta(factor *big.Float) *big.Float {
	delta := bigmath.Zero().Mul(r.qs, factor)
	delta.Sub(r.ps, delta)
	if delta.Add(delta, bigmath.Margin(r.ps)); delta.Sign() < 0 {
		return bigmath.Zero()
	}
	return delta
}

// epsilonAt returns the least ε' ≥ 0 whose δ' is at most delta, rounded up. Between losses, δ' is
// linear in e^ε'.
func (r *responses) epsilonAt(delta *big.Float) float64 {
	greatest := max(0, r.loss())
	if delta.Sign() <= 0 {
		return greatest
	}
	for r.loss() > 0 && r.delta(r.factor).Cmp(delta) <= 0 {
		r.next()
	}
	if r.loss() <= 0 { // now the sums include all losses above 0
		if r.delta(bigmath.New(1)).Cmp(delta) <= 0 {
			return 0
		}
	}
	// e^ε' = (Σ p − δ')/Σ q, with Σ p rounded up and δ' rounded down.
	e := bigmath.Zero().Sub(r.ps, delta)
	e.Add(e, bigmath.Margin(r.ps))
	log := bigmath.Log(e.Quo(e, r.qs))
	log.Add(log, bigmath.Margin(bigmath.Zero().Add(log, bigmath.New(1))))
	return min(greatest, max(0, bigmath.RoundUp(log)))
}
