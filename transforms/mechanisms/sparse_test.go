package mechanisms

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

// atLeastNoise returns P(X ≥ m) for discrete Laplace noise of a scale, in closed form.
func atLeastNoise(m int64, scale float64) float64 {
	if m <= 0 {
		return 1 - atLeastNoise(1-m, scale)
	}
	return math.Exp(-float64(m)/scale) / (1 + math.Exp(-1/scale))
}

// answersLaw returns the probability of every transcript of a search on the integers, as
// a string of + and −, by summing over the threshold's noise. Noise beyond 60 scales
// is left out: e^-60 in all.
func answersLaw(values []int64, first, each float64, positives int) map[string]float64 {
	law := map[string]float64{}
	last := int64(60 * first)
	for r := -last; r <= last; r++ {
		var walk func(answers string, found, i int, p float64)
		walk = func(answers string, found, i int, p float64) {
			if i == len(values) || found == positives {
				law[answers] += p
				return
			}
			above := atLeastNoise(r-values[i], each)
			walk(answers+"+", found+1, i+1, p*above)
			walk(answers+"-", found, i+1, p*atLeastNoise(1-(r-values[i]), each))
		}
		walk("", 0, 0, math.Tanh(1/(2*first))*math.Exp(-math.Abs(float64(r))/first))
	}
	return law
}

// integers returns the mechanism on the lattice of the integers, whose law can be summed.
func integers(first, each uint64, positives int) *SparseVector {
	return &SparseVector{threshold: first, value: each, positives: positives}
}

func TestSearchesHaveTheirLaw(t *testing.T) {
	n := chance.Trials(200_000)
	for i, c := range []struct {
		first, each uint64
		positives   int
		values      []int64
	}{{2, 3, 1, []int64{0, 1, 2, 3}}, {1, 1, 2, []int64{0, 0, 0, 0}}, {3, 7, 3, []int64{-2, 4, 0, 1, 6}}} {
		s, src, counts := integers(c.first, c.each, c.positives), seeded(t, 400+uint64(i)), map[string]int{}
		for range n {
			search, answers := must.Have(s.Begin(0, src)), ""
			for _, v := range c.values {
				above, err := search.Above(float64(v), src)
				if errors.Is(err, ErrPositives) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				answers += map[bool]string{true: "+", false: "-"}[above]
			}
			counts[answers]++
		}
		law := answersLaw(c.values, float64(c.first), float64(c.each), c.positives)
		checkCounts(t, fmt.Sprintf("%+v", c), counts, n, law)
	}
}

// TestSearchesPayForTheirLosses compares the price of every transcript with its exact
// likelihood ratio, in both directions.
func TestSearchesPayForTheirLosses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, each := rapid.IntRange(1, 6).Draw(t, "first"), rapid.IntRange(1, 12).Draw(t, "each")
		positives := rapid.IntRange(1, 3).Draw(t, "positives")
		values := rapid.SliceOfN(rapid.Int64Range(-6, 6), 1, 6).Draw(t, "values")
		monotone := rapid.Bool().Draw(t, "monotone")
		changed := make([]int64, len(values))
		for i, v := range values {
			least := int64(-2)
			if monotone {
				least = 0
			}
			changed[i] = v + rapid.Int64Range(least, 2).Draw(t, "by")
		}
		greatestLoss(t, integers(uint64(first), uint64(each), positives), values, changed, monotone)
	})
}

// greatestLoss fails a test if a transcript loses more than its price, and returns the greatest
// ratio of a loss to its price.
func greatestLoss(t rapid.TB, s *SparseVector, values, changed []int64, monotone bool) (share float64) {
	t.Helper()
	one := answersLaw(values, float64(s.threshold), float64(s.value), s.positives)
	two := answersLaw(changed, float64(s.threshold), float64(s.value), s.positives)
	for answers, p := range one {
		search := &Search{mechanism: s, positives: strings.Count(answers, "+")}
		price := must.Have(search.Price(2)).Epsilon
		if monotone {
			price = must.Have(search.PriceMonotone(2)).Epsilon
		}
		if p < 1e-13 || two[answers] < 1e-13 {
			continue // the terms left out of the sums would matter
		}
		ratio := math.Abs(math.Log(p / two[answers]))
		if ratio > price+1e-9 {
			t.Fatalf("%s: loss %v, price %v", answers, ratio, price)
		}
		share = max(share, ratio/price)
	}
	return share
}

func TestSearchEndsAndPays(t *testing.T) {
	s, src := must.Have(NewSparseVector(8, 16, 2)), seeded(t, 1)
	if w := must.Have(s.Worst(1)); w.Epsilon != 0.375 || w.Delta != 0 {
		t.Errorf("worst %v, want 1/8 + 2·2/16", w)
	}
	if w := must.Have(s.WorstMonotone(1)); w.Epsilon != 0.25 {
		t.Errorf("monotone %v, want 1/8 + 2/16", w)
	}
	c := must.Have(s.Begin(0, src))
	for i, want := range []struct {
		value float64
		above bool
		price float64
	}{{-1e6, false, 0.125}, {1e6, true, 0.25}, {-0x1p900, false, 0.25}, {0x1p900, true, 0.375}} {
		above, err := c.Above(want.value, src)
		if p := must.Have(c.Price(1)).Epsilon; err != nil || above != want.above || p != want.price {
			t.Errorf("value %d: %v, %v, price %v", i, above, err, p)
		}
	}
	if _, err := c.Above(0, src); !errors.Is(err, ErrPositives) || c.Found() != 2 {
		t.Errorf("after two: %v, found %d", err, c.Found())
	}
	if p := must.Have(c.PriceMonotone(1)); p.Epsilon != 0.25 {
		t.Errorf("monotone %v", p)
	}
}

func TestSearchRefusesWhatIsOutOfRange(t *testing.T) {
	s, src := must.Have(NewSparseVector(1, 1, 1)), seeded(t, 1)
	c := must.Have(s.Begin(0, src))
	var bad *units.RangeError
	for _, err := range []error{
		second(NewSparseVector(0, 1, 1)), second(NewSparseVector(1, math.NaN(), 1)), second(NewSparseVector(1, 1, 0)),
		second(NewSparseVector(1, 1, maxPositives+1)), second(NewSparseVector(1, 1025, 1)),
		second(NewSparseVector(1025, 1, 1)),
		second(NewSparseVector(0x1p31, 0x1p30, 1)), second(s.Begin(math.NaN(), src)), second(s.Begin(0x1p901, src)),
		second(c.Above(math.Inf(1), src)), second(s.Worst(-1)), second(c.Price(math.NaN())),
		second(s.WorstMonotone(0x1p901)),
	} {
		if !errors.As(err, &bad) {
			t.Errorf("got %v, want a *units.RangeError", err)
		}
	}
	if c.Found() != 0 {
		t.Errorf("an error was counted as an answer")
	}
	for _, scales := range [][2]float64{{0x1p-23, 0x1p-13}, {0x1p30, 0x1p20}, {0x1.fffp-3, 0x1.fffp7}} {
		s := must.Have(NewSparseVector(scales[0], scales[1], maxPositives))
		if max(s.threshold, s.value) > 1<<39 || min(s.threshold, s.value) < 1<<20 {
			t.Errorf("scales %v are %d and %d spacings", scales, s.threshold, s.value)
		}
	}
}
