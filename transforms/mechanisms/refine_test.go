package mechanisms

import (
	"fmt"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
)

// couplingLaws returns the laws of u and v and the probability that nothing is taken
// off between them.
func couplingLaws(t1, t2 uint64) (p1, p2 func(int64) float64, stays float64) {
	law := func(t uint64) func(int64) float64 {
		rate := 1 / float64(t)
		return func(x int64) float64 { return math.Tanh(rate/2) * math.Exp(-rate*math.Abs(float64(x))) }
	}
	root := math.Sinh(0.5/float64(t1)) / math.Sinh(0.5/float64(t2))
	return law(t1), law(t2), root * root
}

// TestCouplingIsOne adds the law of v + w over v and wants the law of u: the identity
// of characteristic functions that refine rests on, to 1e-12.
func TestCouplingIsOne(t *testing.T) {
	for _, c := range []struct{ t1, t2 uint64 }{{2, 1}, {3, 2}, {7, 3}, {20, 1}, {64, 63}, {50, 49}} {
		p1, p2, stays := couplingLaws(c.t1, c.t2)
		last := int64(40 * c.t1)
		for _, u := range []int64{0, 1, 2, 5, int64(c.t1), 3 * int64(c.t1)} {
			sum := stays * p2(u)
			for v := -last; v <= last; v++ {
				sum += (1 - stays) * p2(v) * p1(u-v)
			}
			if math.Abs(sum/p1(u)-1) > 1e-12 {
				t.Errorf("scales %d, %d: v + w is %d with probability %v, want %v", c.t1, c.t2, u, sum, p1(u))
			}
			// The closed form of the probability to stay.
			closed := math.Sinh(1/float64(c.t1)) / math.Sinh(1/float64(c.t2)) *
				math.Exp(-float64(u)*(1/float64(c.t2)-1/float64(c.t1)))
			if exact := stays * p2(u) / p1(u); math.Abs(closed/exact-1) > 1e-12 {
				t.Errorf("scales %d, %d, u = %d: stays with %v, want %v", c.t1, c.t2, u, closed, exact)
			}
		}
	}
}

// TestRefineHasTheConditionalLaw starts from fixed u and compares v with Bayes' rule
// (χ², see checkCounts: 1e-8 each).
func TestRefineHasTheConditionalLaw(t *testing.T) {
	n := chance.Trials(80_000)
	for _, c := range []struct {
		t1, t2 uint64
		us     []int64
	}{
		{2, 1, []int64{0, 1, -3}},
		{3, 2, []int64{0, -2, 9}},
		{8, 3, []int64{0, 5, -30}},
		{30, 2, []int64{1, -40}},
		{64, 63, []int64{0, 20, -100}},
	} {
		p1, p2, stays := couplingLaws(c.t1, c.t2)
		for _, u := range c.us {
			law, counts := map[int64]float64{}, map[int64]int{}
			for v := int64(-2000); v <= 2000; v++ {
				if p := (1 - stays) * p2(v) * p1(u-v) / p1(u); p > 1e-12 {
					law[v] = p
				}
			}
			law[u] += stays * p2(u) / p1(u)
			src := seeded(t, uint64(500+u))
			for range n {
				v, err := refine(u, c.t1, c.t2, src)
				if err != nil {
					t.Fatal(err)
				}
				counts[v]++
			}
			checkCounts(t, fmt.Sprintf("from %d at scale %d to scale %d", u, c.t1, c.t2), counts, n, law)
		}
	}
}
