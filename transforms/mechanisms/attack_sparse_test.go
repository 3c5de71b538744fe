package mechanisms_test

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// opposed returns a stream of sensitivity 1: low values that are 0 for one secret and 1 for the
// other, then high values the other way round. Sparse vector leaks most by outputs "below" for the
// first and "above" for the last (Lyu, Su and Li, 2017, proofs of Theorems 6 and 7).
func opposed(secret float64, low, high int) []float64 {
	values := make([]float64, 0, low+high)
	for range low {
		values = append(values, secret)
	}
	for range high {
		values = append(values, 1-secret)
	}
	return values
}

// agree counts the outputs that fit secret 0: below first, then above.
func agree(answers []bool, low int) (score float64) {
	for i, above := range answers {
		if above == (i >= low) {
			score--
		} else {
			score++
		}
	}
	return score
}

// search runs the mechanism on values until it ends.
func search(m *mechanisms.SparseVector, threshold float64, values []float64, src mechanisms.Source) (answers []bool) {
	s := must.Have(m.Begin(threshold, src))
	for _, v := range values {
		above, err := s.Above(v, src)
		if err != nil {
			break
		}
		answers = append(answers, above)
	}
	return answers
}

func TestAttackOnSparseVector(t *testing.T) {
	one := must.Have(mechanisms.NewSparseVector(2, 4, 1))
	t.Run("one positive", func(t *testing.T) {
		holds(t, must.Have(one.Worst(1)), 0.3, func(secret float64, src mechanisms.Source) float64 {
			return agree(search(one, 1, opposed(secret, 6, 1), src), 6)
		})
	})
	t.Run("five positives", func(t *testing.T) {
		five := must.Have(mechanisms.NewSparseVector(2, 20, 5))
		holds(t, must.Have(five.Worst(1)), 0.12, func(secret float64, src mechanisms.Source) float64 {
			return agree(search(five, 0, opposed(secret, 12, 12), src), 12)
		})
	})
	t.Run("monotone", func(t *testing.T) {
		m := must.Have(mechanisms.NewSparseVector(2, 2, 1))
		holds(t, must.Have(m.WorstMonotone(1)), 0.2, func(secret float64, src mechanisms.Source) float64 {
			found := len(search(m, 3, []float64{secret, secret, secret, secret}, src))
			return -float64(found)
		})
	})
	// Searches go on, and others begin, for as long as the realised prices allow.
	t.Run("settled by what was found", func(t *testing.T) {
		claim := loss.Approx{Epsilon: 1.5}
		worst := must.Have(one.Worst(1))
		holds(t, claim, 0.2, func(secret float64, src mechanisms.Source) float64 {
			budget, score := must.Have(accounting.NewExPost(claim)), 0.0
			for budget.Reserve(worst) == nil {
				s, answers := must.Have(one.Begin(1, src)), []bool(nil)
				for i, v := range opposed(secret, 4, 1) {
					answers = append(answers, must.Have(s.Above(v, src)))
					if answers[i] {
						break
					}
				}
				score += agree(answers, 4)
				if err := budget.Settle(worst, must.Have(s.Price(1))); err != nil {
					t.Fatal(err)
				}
			}
			return score
		})
	})
}

// broken is a published variant of sparse vector (Lyu, Su and Li, 2017, Figure 1), with continuous
// noise: none is added if a mechanism is nil.
type broken struct {
	threshold, value *mechanisms.Laplace
	positives        int  // 0: no limit
	numeric          bool // a value that is above is released with the noise it was compared with
}

func (b broken) run(values []float64, src mechanisms.Source) (answers []bool, released float64) {
	limit, found := must.Have(b.threshold.Release(0, src)), 0
	for _, v := range values {
		if b.value != nil {
			v = must.Have(b.value.Release(v, src))
		}
		answers = append(answers, v >= limit)
		if v >= limit {
			found++
			if b.numeric {
				released = v
			}
			if found == b.positives {
				break
			}
		}
	}
	return answers, released
}

// TestAttackCatchesSparseVectorsThatAreNotPrivate: the claim is ε = 1, sensitivity 1, in the
// noise that the published algorithm has for it.
func TestAttackCatchesSparseVectorsThatAreNotPrivate(t *testing.T) {
	claim := loss.Approx{Epsilon: 1}
	laplace := func(scale float64) *mechanisms.Laplace { return must.Have(mechanisms.NewLaplace(scale)) }
	counting := func(b broken, low, high int) adversary {
		return func(secret float64, src mechanisms.Source) float64 {
			answers, _ := b.run(opposed(secret, low, high), src)
			return agree(answers, low)
		}
	}
	// Algorithm 3 (lecture notes of 2011): it releases the noisy value itself. That bounds the
	// threshold's noise from above, and many outputs below were likely only far above it.
	t.Run("numeric answers", func(t *testing.T) {
		b := broken{laplace(2), laplace(2), 1, true}
		catchesIn(t, 60_000, claim, func(secret float64, src mechanisms.Source) float64 {
			const low, far = 16, 100
			values := opposed(secret, low, 1)
			for i := range low {
				values[i] -= 2
			}
			answers, y := b.run(values, src)
			if len(answers) <= low || !answers[low] {
				return 0
			}
			return y - far // all below a threshold that is at most y
		})
	})
	// Algorithm 4 (2014): the values' noise is not scaled by the number of positives.
	t.Run("noise not scaled", func(t *testing.T) {
		catches(t, claim, counting(broken{laplace(4), laplace(4.0 / 3), 20, false}, 20, 20))
	})
	// Algorithm 5 (2015): no noise on values.
	t.Run("no noise on values", func(t *testing.T) {
		catches(t, claim, counting(broken{laplace(2), nil, 0, false}, 1, 1))
	})
	// Algorithm 6 (2015): no limit on positives.
	t.Run("no limit", func(t *testing.T) {
		catches(t, claim, counting(broken{laplace(2), laplace(2), 0, false}, 30, 30))
	})
}

// TestAttackOnSelection: the best single event of a selection is its price's worst case.
func TestAttackOnSelection(t *testing.T) {
	scores := func(secret float64) []int64 { return []int64{8 - int64(secret), 7 + int64(secret), 0} }
	first := func(i int) float64 { return float64(i) }
	e := must.Have(mechanisms.NewExponential(2))
	t.Run("exponential", func(t *testing.T) {
		holds(t, must.Have(e.Approx(2)), 0.4, func(secret float64, src mechanisms.Source) float64 {
			return first(must.Have(e.Select(scores(secret), src)) % 2)
		})
	})
	t.Run("permute and flip", func(t *testing.T) {
		p := must.Have(mechanisms.NewPermuteAndFlip(2))
		holds(t, must.Have(p.Approx(2)), 0.4, func(secret float64, src mechanisms.Source) float64 {
			return first(must.Have(p.Select(scores(secret), src)) % 2)
		})
	})
	// As many selections, each of the mu of bounded range, as accounting.NewGaussian takes.
	t.Run("composed", func(t *testing.T) {
		fine := must.Have(mechanisms.NewExponential(8))
		budget, price, runs := must.Have(accounting.NewGaussianFor(promise())), must.Have(fine.GDP(2)), 0
		for budget.Spend(price) == nil {
			runs++
		}
		t.Logf("%d selections of %v", runs, price)
		holds(t, promise(), 0.3, func(secret float64, src mechanisms.Source) (score float64) {
			for range runs {
				score += first(must.Have(fine.Select([]int64{1 - int64(secret), int64(secret)}, src)))
			}
			return score
		})
	})
	// The score's change in opposite directions, paid as if it were in one.
	t.Run("half of the swing is caught", func(t *testing.T) {
		wide := must.Have(mechanisms.NewExponential(0.5))
		catches(t, must.Have(wide.Approx(1)), func(secret float64, src mechanisms.Source) float64 {
			return first(must.Have(wide.Select([]int64{3 - int64(secret), int64(secret)}, src)))
		})
	})
}
