package bigmath

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// off returns |x − want|/|want| as a power of two, or math.MinInt for no difference.
func off(x, want *big.Float) int {
	d := new(big.Float).SetPrec(4*Bits).Sub(want, x)
	if d.Sign() == 0 {
		return math.MinInt
	}
	return d.Quo(d, want).MantExp(nil)
}

func parse(t *testing.T, digits string) *big.Float {
	t.Helper()
	x, ok := new(big.Float).SetPrec(2 * Bits).SetString(digits)
	if !ok {
		t.Fatalf("%q is not a number", digits)
	}
	return x
}

// e and ln 2 to 100 decimals (OEIS A001113, A002162), the 97.5% quantile of the normal
// distribution to 39 as mpmath computes it, √2·erfinv(0.95).
const (
	digitsE   = "2.7182818284590452353602874713526624977572470936999595749669676277240766303535475945713821785251664274"
	digitsLn2 = "0.6931471805599453094172321214581765680755001343602552541206800094933936219696947156058633269964186875"
	digitsZ   = "1.959963984540054235524594430520551527955"
)

func TestExpAndLogAgreeWithPublishedDigits(t *testing.T) {
	for _, c := range []struct {
		what      string
		got, want *big.Float
		bits      int
	}{
		{"e", Exp(New(1)), parse(t, digitsE), -328},
		{"1/e", Exp(New(-1)), new(big.Float).Quo(New(1), parse(t, digitsE)), -328},
		{"e − 1", Expm1(New(1)), new(big.Float).Sub(parse(t, digitsE), New(1)), -328},
		{"ln 2", Log(New(2)), parse(t, digitsLn2), -328},
		{"ln e", Log(Exp(New(1))), New(1), -366},
		{"Φ⁻¹(0.975) above", QuantileAbove(quarterTenth()), parse(t, digitsZ), -125},
		{"Φ⁻¹(0.975) below", quantile(quarterTenth(), -1), parse(t, digitsZ), -125},
	} {
		if got := off(c.got, c.want); got > c.bits {
			t.Errorf("%s is off by 2^%d, want 2^%d", c.what, got, c.bits)
		}
	}
}

// quarterTenth returns 1/40 to 384 bits.
func quarterTenth() *big.Float { return Zero().Quo(New(1), New(40)) }

// pi by Machin's formula.
func pi() *big.Float {
	const width = 2 * Bits
	number := func(n int64) *big.Float { return new(big.Float).SetPrec(width).SetInt64(n) }
	arctanOfInverse := func(q int64) *big.Float {
		sum, power := number(0), number(1)
		power.Quo(power, number(q))
		for n := int64(0); power.MantExp(nil) > -width; n++ {
			term := new(big.Float).SetPrec(width).Quo(power, number(2*n+1))
			if n%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
			power.Quo(power, number(q*q))
		}
		return sum
	}
	quarter := arctanOfInverse(5)
	quarter.Mul(quarter, number(4))
	quarter.Sub(quarter, arctanOfInverse(239))
	return quarter.Mul(quarter, number(4))
}

func TestRootTauDigitsAreRight(t *testing.T) {
	twice := pi()
	twice.Add(twice, twice)
	if got := off(parse(t, rootTau), twice.Sqrt(twice)); got > -Bits {
		t.Errorf("√(2π) is off by 2^%d", got)
	}
}

func TestMillsFractionIsBracketedByItsNextDepth(t *testing.T) {
	for _, x := range []float64{millsSplit, 6, 10, 38, 1000, 1e8} {
		bx := New(x)
		depth := millsDepth(bx)
		if gap := off(millsFraction(bx, depth+1), millsFraction(bx, depth)); gap > -220 {
			t.Errorf("R(%v) is known to 2^%d only", x, gap)
		}
	}
	// Both ways of computing a tail meet at the split.
	below := UpperTail(New(math.Nextafter(millsSplit, 0)))
	if gap := off(below, UpperTail(New(millsSplit))); gap > -46 {
		t.Errorf("the upper tail jumps by 2^%d at the split", gap)
	}
}

// The derivative of the tail is −φ, whatever way it is computed: a central difference
// of step h is off by h²·(x²−1)/6.
func TestTailFallsAsItsDensity(t *testing.T) {
	step := Zero().SetMantExp(New(1), -60)
	for _, x := range []float64{-5.5, -4, -1, 0, 0.3, 2, 4.9, 5.1, 9, 37} {
		left := UpperTail(Zero().Sub(New(x), step))
		fall := left.Sub(left, UpperTail(Zero().Add(New(x), step)))
		fall.Quo(fall, Zero().Add(step, step))
		if got := off(fall, NormalDensity(New(x))); got > -105 {
			t.Errorf("the tail at %v falls as φ to 2^%d only", x, got)
		}
	}
}

func TestExpm1IsExactWhereExpLosesDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(math.Ldexp(rapid.Float64Range(-1, 1).Draw(t, "x"), -rapid.IntRange(-8, 900).Draw(t, "scale")))
		if x.Sign() == 0 {
			return
		}
		// (e^x − 1)/(1 − e^−x) = e^x shares no cancellation with the sum behind it.
		ratio := Zero().Quo(Expm1(x), Zero().Neg(Expm1(Zero().Neg(x))))
		if got := off(ratio, Exp(x)); got > -190 {
			t.Fatalf("e^x − 1 at %v is off by 2^%d", x.Text('g', 20), got)
		}
	})
}

func TestRoundingBracketsOnItsSide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(rapid.Float64Range(-2, 2).Draw(t, "x"))
		x.Add(x,
			Zero().SetMantExp(New(rapid.Float64Range(-1, 1).Draw(t, "rest")), -rapid.IntRange(0, 120).Draw(t, "shift")))
		x.SetMantExp(x, rapid.IntRange(-1200, 1100).Draw(t, "scale"))
		up, down := RoundUp(x), RoundDown(x)
		if !(down <= up) || math.Nextafter(down, math.Inf(1)) < up {
			t.Fatalf("%v is between %v and %v", x.Text('g', 30), down, up)
		}
		if !math.IsInf(up, 1) && New(up).Cmp(x) < 0 || !math.IsInf(down, -1) && New(down).Cmp(x) > 0 {
			t.Fatalf("%v is not between %v and %v", x.Text('g', 30), down, up)
		}
		if f, accuracy := x.Float64(); accuracy == big.Exact && (f != up || f != down) {
			t.Fatalf("%v is a float64, yet between %v and %v", f, down, up)
		}
	})
}

func TestRootUpIsTheLeastWithThatSquare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := Square(rapid.Float64Range(1e-15, 4096).Draw(t, "root"))
		x.Mul(x, New(rapid.SampledFrom([]float64{1, 1 + 0x1p-52, 1 - 0x1p-53, 2}).Draw(t, "factor")))
		f := RootUp(x)
		if Square(f).Cmp(x) < 0 || Square(math.Nextafter(f, 0)).Cmp(x) >= 0 {
			t.Fatalf("√%v rounded up is %v", x.Text('g', 30), f)
		}
	})
}

func TestQuantilesAreOnTheirSideAndNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := New(rapid.Float64Range(0.5, 1).Draw(t, "p"))
		p.SetMantExp(p, -rapid.IntRange(0, 1500).Draw(t, "scale"))
		if p.Cmp(New(1)) >= 0 {
			return
		}
		above, below := QuantileAbove(p), quantile(p, -1)
		if UpperTail(above).Cmp(p) > 0 || UpperTail(below).Cmp(p) < 0 {
			t.Fatalf("Φ⁻¹(1 − p) for p = %v is not between %v and %v", p.Text('g', 20), below, above)
		}
		if gap := Zero().Sub(above, below); gap.Sign() <= 0 || gap.MantExp(nil) > -130 {
			t.Fatalf("Φ⁻¹(1 − p) for p = %v is known to %v only", p.Text('g', 20), gap.Text('g', 5))
		}
	})
}

func TestUpwardIsAProbabilityAndAnUpperBound(t *testing.T) {
	for _, x := range []float64{1e-320, 1e-300, 0.3, math.Nextafter(1, 0)} {
		up := Upward(New(x))
		if up.Cmp(New(x)) <= 0 || off(up, New(x)) > -138 {
			t.Errorf("Upward(%v) = %v", x, up.Text('g', 40))
		}
	}
	if Upward(New(1)).Cmp(New(1)) != 0 || Upward(New(7)).Cmp(New(1)) != 0 {
		t.Error("a probability above 1")
	}
	if RoundUp(Upward(Zero())) != math.SmallestNonzeroFloat64 {
		t.Error("a curve that faded is not reported as the least positive number")
	}
}

// At ε = γ Lemma C.4 is (1 − 1/α)^(α−1)/α: rational at whole orders.
func TestRenyiDeltaAtTheDivergenceItself(t *testing.T) {
	for alpha := int64(2); alpha <= 64; alpha++ {
		want := new(big.Rat).SetFrac64(1, alpha)
		for range alpha - 1 {
			want.Mul(want, big.NewRat(alpha-1, alpha))
		}
		got := RenyiDelta(New(float64(alpha-1)), New(3), New(3))
		if off(got, new(big.Float).SetPrec(2*Bits).SetRat(want)) > -340 {
			t.Errorf("order %d: %v, want %v", alpha, got.Text('g', 30), want)
		}
	}
}
