package fixed_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
)

// units returns f·2^208 exactly.
func units(f float64) *big.Rat {
	r := new(big.Rat).SetFloat64(f)
	return r.Mul(r, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 208)))
}

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func ceiling(r *big.Rat) *big.Int {
	negative := floor(new(big.Rat).Neg(r))
	return negative.Neg(negative)
}

var powers = rapid.Custom(func(t *rapid.T) float64 {
	return math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "mantissa"), rapid.IntRange(-1080, 60).Draw(t, "exponent"))
})

func TestRoundingIsExactAndDirected(t *testing.T) {
	bound := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	lower := func(v *big.Int, cap int64) *big.Int {
		limit := new(big.Int).Sub(bound, big.NewInt(cap))
		if v.Cmp(limit) > 0 {
			return limit
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		f := powers.Draw(t, "f")
		exact := units(f)
		square := new(big.Rat).Mul(exact, new(big.Rat).SetFloat64(f))
		for _, c := range []struct {
			name      string
			got, want *big.Int
		}{
			{"Up", fixed.Up(f).Big(), lower(ceiling(exact), 0)},
			{"Down", fixed.Down(f).Big(), lower(floor(exact), 1)},
			{"SquareUp", fixed.SquareUp(f).Big(), lower(ceiling(square), 0)},
			{"SquareDown", fixed.SquareDown(f).Big(), lower(floor(square), 1)},
			{"SquareUp of the negative", fixed.SquareUp(-f).Big(), lower(ceiling(square), 0)},
		} {
			if c.got.Cmp(c.want) != 0 {
				t.Fatalf("%s(%v) is %v units, want %v", c.name, f, c.got, c.want)
			}
		}
	})
}

func TestWhatIsNoPositiveNumberTakesTheSafeSide(t *testing.T) {
	zero, nearly := fixed.Amount{}, fixed.Max.Sub(fixed.Up(0x1p-208))
	inf := math.Inf(1)
	for _, c := range []struct {
		name      string
		got, want fixed.Amount
	}{
		{"Up(NaN)", fixed.Up(math.NaN()), fixed.Max},
		{"Up(+Inf)", fixed.Up(inf), fixed.Max},
		{"Up(2^48)", fixed.Up(0x1p48), fixed.Max},
		{"Up(MaxFloat64)", fixed.Up(math.MaxFloat64), fixed.Max},
		{"Up(-Inf)", fixed.Up(-inf), zero},
		{"Up(-1)", fixed.Up(-1), zero},
		{"Up(0)", fixed.Up(0), zero},
		{"Up(least)", fixed.Up(math.SmallestNonzeroFloat64), fixed.Up(0x1p-208)},
		{"Down(NaN)", fixed.Down(math.NaN()), zero},
		{"Down(-Inf)", fixed.Down(-inf), zero},
		{"Down(-1)", fixed.Down(-1), zero},
		{"Down(+Inf)", fixed.Down(inf), nearly},
		{"Down(2^48)", fixed.Down(0x1p48), nearly},
		{"Down(just below 2^-208)", fixed.Down(math.Nextafter(0x1p-208, 0)), zero},
		{"SquareUp(NaN)", fixed.SquareUp(math.NaN()), fixed.Max},
		{"SquareUp(2^24)", fixed.SquareUp(0x1p24), fixed.Max},
		{"SquareUp(-Inf)", fixed.SquareUp(-inf), fixed.Max},
		{"SquareUp(MaxFloat64)", fixed.SquareUp(math.MaxFloat64), fixed.Max},
		{"SquareUp(least)", fixed.SquareUp(math.SmallestNonzeroFloat64), fixed.Up(0x1p-208)},
		{"SquareDown(NaN)", fixed.SquareDown(math.NaN()), zero},
		{"SquareDown(+Inf)", fixed.SquareDown(inf), nearly},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v units, want %v", c.name, c.got.Big(), c.want.Big())
		}
	}
}

// amounts covers every length from 0 to 256 bits, Max included.
var amounts = rapid.Custom(func(t *rapid.T) fixed.Amount {
	a := fixed.Down(
		math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "high"), rapid.IntRange(-209, 48).Draw(t, "exponent")))
	return a.Plus(fixed.Down(math.Ldexp(rapid.Float64Range(0, 1).Draw(t, "low"), rapid.IntRange(-208, -10).Draw(t,
		"low exponent"))))
})

func TestAFloatComesBackOnTheSideThatWasAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := amounts.Draw(t, "a")
		down, up := a.FloatDown(), a.FloatUp()
		exact := new(big.Rat).SetInt(a.Big())
		if units(down).Cmp(exact) > 0 || units(up).Cmp(exact) < 0 {
			t.Fatalf("%v units are not between %v and %v", a.Big(), down, up)
		}
		if down != up && math.Nextafter(down, math.Inf(1)) != up {
			t.Fatalf("%v and %v are not neighbours", down, up)
		}
		if (down == up) != (units(down).Cmp(exact) == 0) {
			t.Fatalf("%v units: %v and %v", a.Big(), down, up)
		}
		if a == fixed.Max {
			return
		}
		if fixed.Up(down).Cmp(a) > 0 || fixed.Up(math.Nextafter(down, math.Inf(1))).Cmp(a) <= 0 {
			t.Fatalf("%v is not the greatest float64 that costs at most %v units", down, a.Big())
		}
	})
}

func TestARootRoundedUpIsTheLeastWhoseSquareCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := amounts.Draw(t, "a")
		if a == fixed.Max {
			return
		}
		if rapid.Bool().Draw(t, "a square") {
			a = fixed.SquareDown(a.Root())
		}
		up, exact := a.RootUp(), new(big.Rat).SetInt(a.Big())
		covers := func(f float64) bool { return new(big.Rat).Mul(units(f), new(big.Rat).SetFloat64(f)).Cmp(exact) >= 0 }
		if !covers(up) || up > 0 && covers(math.Nextafter(up, 0)) {
			t.Fatalf("the root of %v units, rounded up, is given as %v", a.Big(), up)
		}
	})
}

func TestAnAmountComesBackFromItsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := amounts.Draw(t, "a")
		b := a.Bytes()
		if fixed.FromBytes(b) != a || new(big.Int).SetBytes(b[:]).Cmp(a.Big()) != 0 {
			t.Fatalf("%v units came back as %v", a.Big(), fixed.FromBytes(b).Big())
		}
	})
}

func TestARootIsTheGreatestWhoseSquareFits(t *testing.T) {
	check := func(a fixed.Amount) bool {
		root := a.Root()
		next := math.Nextafter(root, math.Inf(1))
		return fixed.SquareUp(root).Cmp(a) <= 0 &&
			(fixed.SquareUp(next).Cmp(a) > 0 || fixed.SquareUp(next) == fixed.Max)
	}
	one := fixed.Up(0x1p-208)
	for _, a := range []fixed.Amount{{}, one, one.Plus(one), fixed.Down(1), fixed.Max.Sub(one), fixed.Max} {
		if !check(a) {
			t.Errorf("the root of %v units is given as %v", a.Big(), a.Root())
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if a := amounts.Draw(t, "a"); !check(a) {
			t.Fatalf("the root of %v units is given as %v", a.Big(), a.Root())
		}
	})
}

func TestSumsAreExactAndSaturate(t *testing.T) {
	bound := fixed.Max.Big()
	rapid.Check(t, func(t *rapid.T) {
		a, b := amounts.Draw(t, "a"), amounts.Draw(t, "b")
		sum := new(big.Int).Add(a.Big(), b.Big())
		if sum.Cmp(bound) > 0 {
			sum = bound
		}
		if a.Plus(b).Big().Cmp(sum) != 0 {
			t.Fatalf("the sum is %v, want %v", a.Plus(b).Big(), sum)
		}
		difference := new(big.Int).Sub(a.Big(), b.Big())
		if difference.Sign() < 0 {
			difference.SetInt64(0)
		}
		if a.Sub(b).Big().Cmp(difference) != 0 {
			t.Fatalf("the difference is %v, want %v", a.Sub(b).Big(), difference)
		}
		if a.Cmp(b) != a.Big().Cmp(b.Big()) || a.IsZero() != (a.Big().Sign() == 0) {
			t.Fatalf("%v and %v are ordered otherwise", a.Big(), b.Big())
		}
	})
}
