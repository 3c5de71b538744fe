package mechanisms

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/units"
)

func softmax(scores []int64, scale float64) []float64 {
	greatest, sum := slices.Max(scores), 0.0
	law := make([]float64, len(scores))
	for i, s := range scores {
		law[i] = math.Exp((float64(s) - float64(greatest)) / scale)
		sum += law[i]
	}
	for i := range law {
		law[i] /= sum
	}
	return law
}

// flipLaw returns the law of PermuteAndFlip, by going through all orders.
func flipLaw(scores []int64, scale float64) []float64 {
	greatest, law := slices.Max(scores), make([]float64, len(scores))
	var walk func(left []int, reached float64)
	walk = func(left []int, reached float64) {
		for k, i := range left {
			coin := math.Exp((float64(scores[i]) - float64(greatest)) / scale)
			share := reached / float64(len(left))
			law[i] += share * coin
			if coin < 1 {
				walk(slices.Delete(slices.Clone(left), k, k+1), share*(1-coin))
			}
		}
	}
	all := make([]int, len(scores))
	for i := range all {
		all[i] = i
	}
	walk(all, 1)
	return law
}

func TestSelectionsHaveTheirLaws(t *testing.T) {
	n := chance.Trials(200_000)
	for i, c := range []struct {
		scores []int64
		scale  float64
	}{
		{[]int64{0, 1}, 1}, {[]int64{5, 5, 5}, 2}, {[]int64{10, 7, 3, 9, 0}, 2.5}, {[]int64{-4, 3, 2}, 10},
		{[]int64{0, 1 << 40}, 1 << 40}, {[]int64{0, 1, 2}, 0.3}, {[]int64{math.MinInt64, math.MaxInt64}, 1},
		{[]int64{7}, 1},
	} {
		e, p := must.Have(NewExponential(c.scale)), must.Have(NewPermuteAndFlip(c.scale))
		for name, m := range map[string]struct {
			choose func([]int64, Source) (int, error)
			law    []float64
		}{"exponential": {e.Select, softmax(c.scores, c.scale)}, "permute and flip": {p.Select,
			flipLaw(c.scores, c.scale)}} {
			src, counts, law := seeded(t, 300+uint64(i)), map[int]int{}, map[int]float64{}
			for range n {
				counts[must.Have(m.choose(c.scores, src))]++
			}
			for k, p := range m.law {
				law[k] = p
			}
			checkCounts(t, fmt.Sprintf("%s of %v, scale %v", name, c.scores, c.scale), counts, n, law)
		}
	}
}

// TestSelectionsPayForTheirLosses compares prices with the losses of neighbouring score
// vectors, whose laws are exact: range and greatest loss of Exponential, greatest loss of
// PermuteAndFlip, divergences of both.
func TestSelectionsPayForTheirLosses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Int64Range(-15, 15), 1, 6).Draw(t, "scores")
		scale := rapid.Float64Range(0.5, 20).Draw(t, "scale")
		changed, least, most := slices.Clone(scores), int64(math.MaxInt64), int64(math.MinInt64)
		for i := range changed {
			by := rapid.Int64Range(-3, 3).Draw(t, "by")
			changed[i] += by
			least, most = min(least, by), max(most, by)
		}
		swing := float64(most - least)
		e, p := must.Have(NewExponential(scale)), must.Have(NewPermuteAndFlip(scale))
		pure, rho := must.Have(e.Approx(swing)).Epsilon, must.Have(e.ZCDP(swing)).Rho
		const tolerance = 1e-11

		one, two := softmax(scores, scale), softmax(changed, scale)
		low, high := lossRange(one, two)
		if high-low > pure+tolerance || low > tolerance || high < -tolerance {
			t.Fatalf("exponential: losses from %v to %v, bounded range %v", low, high, pure)
		}
		if swing > 0 && high-low < pure-1e-9 {
			t.Fatalf("exponential: the range %v is below its price %v", high-low, pure)
		}
		flip, flipped := flipLaw(scores, scale), flipLaw(changed, scale)
		low, high = lossRange(flip, flipped)
		if max(high, -low) > must.Have(p.Approx(swing)).Epsilon+tolerance {
			t.Fatalf("permute and flip: losses from %v to %v, price %v", low, high, pure)
		}
		for _, alpha := range []float64{1.01, 2, 8} {
			if d := renyi(one, two, alpha); d > alpha*rho+1e-9 {
				t.Fatalf("exponential: divergence %v of order %v, rho %v", d, alpha, rho)
			}
			if d := renyi(flip, flipped, alpha); d > alpha*must.Have(p.ZCDP(swing)).Rho+1e-9 {
				t.Fatalf("permute and flip: divergence %v of order %v", d, alpha)
			}
		}
	})
}

func lossRange(p, q []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range p {
		l := math.Log(p[i] / q[i])
		low, high = min(low, l), max(high, l)
	}
	return low, high
}

func renyi(p, q []float64, alpha float64) float64 {
	sum := 0.0
	for i := range p {
		sum += p[i] * math.Pow(p[i]/q[i], alpha-1)
	}
	return math.Log(sum) / (alpha - 1)
}

func TestSelectionPricesAndErrors(t *testing.T) {
	e, p := must.Have(NewExponential(4)), must.Have(NewPermuteAndFlip(4))
	if a := must.Have(e.Approx(2)); a.Epsilon != 0.5 || a != must.Have(p.Approx(2)) {
		t.Errorf("price %v", a)
	}
	if z := must.Have(e.ZCDP(2)); z != must.Have(conversion.BoundedRangeToZCDP(0.5)) || z.Rho > 0.5*0.5/8 {
		t.Errorf("exponential: %v, want at most 0.5²/8", z)
	}
	if z := must.Have(p.ZCDP(2)); z != must.Have(conversion.PureToZCDP(0.5)) {
		t.Errorf("permute and flip: %v", z)
	}
	if g := must.Have(e.GDP(2)); g != must.Have(conversion.PureToGDP(0.25)) {
		t.Errorf("exponential: %v", g)
	}
	// A third is rounded up to a scale on the lattice: never more than was asked for.
	if a := must.Have(must.Have(NewExponential(1.0 / 3)).Approx(1)); a.Epsilon > 3 || a.Epsilon < 3*(1-0x1p-40) {
		t.Errorf("scale 1/3: %v", a)
	}
	var bad *units.RangeError
	for _, err := range []error{
		second(NewExponential(0)), second(NewPermuteAndFlip(math.NaN())), second(e.Select(nil, nil)),
		second(p.Select(nil, nil)),
		second(e.Approx(-1)), second(e.ZCDP(math.NaN())), second(e.GDP(math.Inf(1))), second(p.ZCDP(-1)),
		second(p.Approx(0x1p901)),
	} {
		if !errors.As(err, &bad) {
			t.Errorf("got %v, want a *units.RangeError", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
