package accounting_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/units"
)

// The returned norm is the integers' norm, by big.Int, and never above the bound, which is
// ⌊(clip·scale)²⌋ of the two numbers as given; and every coordinate is within a unit of the clipped
// one, computed in 200 bits.
func TestAQuantisedVectorHasItsNormAndFitsTheBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clip := math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "clip"), rapid.IntRange(-30, 30).Draw(t, "exponent"))
		scale := rapid.Float64Range(1, 1<<20).Draw(t, "units") / clip
		q, err := accounting.NewQuantiser(clip, scale)
		if err != nil {
			t.Skip(err)
		}
		size := math.Ldexp(1, rapid.IntRange(-60, 60).Draw(t, "size")) * clip
		vector := rapid.SliceOfN(rapid.Float64Range(-size, size), 1, 40).Draw(t, "vector")
		got, norm, err := q.Quantise(nil, vector)
		if err != nil || len(got) != len(vector) {
			t.Fatal(got, err)
		}
		sum, long := new(big.Int), new(big.Float).SetPrec(200)
		for j, v := range got {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(v), big.NewInt(v)))
			x := new(big.Float).SetPrec(200).SetFloat64(vector[j])
			long.Add(long, x.Mul(x, x))
		}
		if !sum.IsUint64() || sum.Uint64() != uint64(norm) || norm > q.Bound() {
			t.Fatalf("norm %d of %v, by big.Int %v, bound %d", norm, got, sum, q.Bound())
		}
		exact := new(big.Float).SetPrec(300).SetFloat64(clip)
		exact.Mul(exact, big.NewFloat(scale))
		if want, _ := exact.Mul(exact, exact).Uint64(); want != uint64(q.Bound()) {
			t.Fatalf("bound %d, want %d", q.Bound(), want)
		}
		factor := big.NewFloat(1).SetPrec(200)
		if long.Sqrt(long); long.Cmp(big.NewFloat(clip)) > 0 {
			factor.Quo(factor.SetFloat64(clip), long)
		}
		for j, v := range got {
			y := new(big.Float).SetPrec(200).SetFloat64(vector[j])
			y.Mul(y.Mul(y, factor), big.NewFloat(scale))
			off, _ := y.Sub(y, big.NewFloat(float64(v))).Float64()
			if math.Abs(off) > 1+1e-6 {
				t.Fatalf("coordinate %d is %d, off by %v", j, v, off)
			}
		}
	})
}

// Rounding to nearest alone goes beyond the bound here: 4 coordinates of 1/2, clip 1, scale 1.
func TestAVectorAtTheClipIsShortened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clip, scale float64
		vector      []float64
		norm        accounting.SquaredNorm
	}{
		{1, 1, []float64{0.5, -0.5, 0.5, -0.5}, 1},
		{1, 3, []float64{0.5, -0.5, 0.5, -0.5}, 9}, // ±1.5 is 2, 2, 1, 1 with its sign at most: 4+…
		{3, 1, []float64{3e300, 4e300}, 8},
		{5, 1, []float64{3e300, -4e300}, 25},
		{1, 1 << 31, []float64{-7}, 1 << 62},
		{1, 1 << 31, []float64{5e-324}, 0},
		{1, 8, nil, 0},
		{1, 8, []float64{0, math.Copysign(0, -1)}, 0},
	} {
		q := must.Have(accounting.NewQuantiser(c.clip, c.scale))
		got, norm, err := q.Quantise(nil, c.vector)
		if err != nil || norm > q.Bound() || norm > c.norm || c.norm-norm > 2 {
			t.Errorf("%v: %v, norm %d, want up to %d (%v)", c.vector, got, norm, c.norm, err)
		}
	}
}

func TestQuantiserRefusesWhatIsNotFinite(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]float64{
		{0, 1}, {1, 0}, {-1, 1}, {1, -1}, {math.NaN(), 1}, {1, math.NaN()}, {math.Inf(1), 1}, {1, math.Inf(1)},
		{1e-3, 1}, {1 << 31, math.Nextafter(1, 2)}, {1e300, 1e300}, {5e-324, 5e-324},
	} {
		var out *units.RangeError
		if q, err := accounting.NewQuantiser(c[0], c[1]); !errors.As(err, &out) {
			t.Errorf("%v: %v, %v", c, q, err)
		}
	}
	q := must.Have(accounting.NewQuantiser(1, 1024))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var out *units.RangeError
		if got, norm, err := q.Quantise(nil, []float64{0.5, bad}); !errors.As(err, &out) ||
			out.Parameter != "vector[1]" || got != nil || norm != 0 {
			t.Errorf("%v: %v, %v, %v", bad, got, norm, err)
		}
	}
}

// The price is the rational ‖q‖²/(2σ²), rounded up by less than one part in 2^50.
func TestAVectorsPriceIsExact(t *testing.T) {
	t.Parallel()
	rng := rand.New(runseed.PCG(t, 16, 3))
	for range 10_000 {
		norm := accounting.SquaredNorm(rng.Uint64() >> rng.UintN(64))
		sigma := math.Ldexp(1+rng.Float64(), rng.IntN(60)-22)
		z, err := norm.ZCDP(sigma)
		if err != nil {
			t.Fatal(err)
		}
		s := new(big.Rat).SetFloat64(sigma)
		want := new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(norm)))
		want.Quo(want, s.Mul(s, s)).Quo(want, big.NewRat(2, 1))
		got := new(big.Rat).SetFloat64(z.Rho)
		near := new(big.Rat).Mul(want, new(big.Rat).SetFloat64(1+0x1p-50))
		if got.Cmp(want) < 0 || got.Cmp(near) > 0 {
			t.Fatalf("norm %d, sigma %v: rho %v, want %v", norm, sigma, z.Rho, want.FloatString(30))
		}
		g, err := norm.GDP(sigma)
		if err != nil {
			t.Fatal(err)
		}
		square := new(big.Rat).SetFloat64(g.Mu)
		square.Mul(square, square).Quo(square, big.NewRat(2, 1))
		if square.Cmp(want) < 0 || square.Cmp(new(big.Rat).Mul(want, new(big.Rat).SetFloat64(1+0x1p-49))) > 0 {
			t.Fatalf("norm %d, sigma %v: mu %v", norm, sigma, g.Mu)
		}
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), 0x1p-24, 0x1p41} {
		var out *units.RangeError
		if _, err := accounting.SquaredNorm(1).ZCDP(bad); !errors.As(err, &out) {
			t.Errorf("sigma %v: %v", bad, err)
		}
	}
	if _, err := accounting.SquaredNorm(math.MaxUint64).GDP(1); err == nil {
		t.Error("a norm that is not known has a price")
	}
}
