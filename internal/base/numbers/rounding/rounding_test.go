package rounding

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

func exact(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// sides fails unless got is the nearest float64 on the side of the truth, up for
// dir 1 and down for −1.
func sides(t *rapid.T, what string, got float64, truth *big.Rat, dir int) {
	t.Helper()
	if math.IsInf(got, 1) {
		if dir < 0 || truth.Cmp(exact(math.MaxFloat64)) <= 0 {
			t.Fatalf("%s is infinite", what)
		}
		return
	}
	if c := exact(got).Cmp(truth); c*dir < 0 {
		t.Fatalf("%s is %v, on the wrong side", what, got)
	}
	inner := math.Nextafter(got, math.Inf(-dir))
	if !math.IsInf(inner, 0) && exact(inner).Cmp(truth)*dir >= 0 {
		t.Fatalf("%s is %v, and %v is nearer on the same side", what, got, inner)
	}
}

func TestResultsAreTheNearestOnTheirSide(t *testing.T) {
	numbers := rapid.Custom(func(t *rapid.T) float64 {
		switch rapid.IntRange(0, 3).Draw(t, "range") {
		case 0:
			return rapid.Float64Range(0, math.MaxFloat64).Draw(t, "any")
		case 1:
			return rapid.Float64Range(0, 0x1p-890).Draw(t, "small")
		case 2:
			return float64(rapid.Uint32().Draw(t, "integer"))
		}
		return math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "mantissa"), rapid.IntRange(-1074, 1022).Draw(t, "exponent"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := numbers.Draw(t, "a"), numbers.Draw(t, "b")
		m := rapid.Uint64().Draw(t, "m")
		sides(t, "the integer", IntegerUp(m), new(big.Rat).SetUint64(m), 1)
		sides(t, "the sum", SumUp(a, b), new(big.Rat).Add(exact(a), exact(b)), 1)
		sides(t, "the product", ProductUp(a, b), new(big.Rat).Mul(exact(a), exact(b)), 1)
		if b > 0 {
			quotient := new(big.Rat).Quo(exact(a), exact(b))
			sides(t, "the quotient", QuotientUp(a, b), quotient, 1)
			sides(t, "the quotient, down,", QuotientDown(a, b), quotient, -1)
		}
		r := RootUp(a)
		if square := exact(r); square.Mul(square, square).Cmp(exact(a)) < 0 {
			t.Fatalf("the root of %v is %v, too small", a, r)
		}
		if below := exact(math.Nextafter(r, 0)); a > 0 && below.Mul(below, below).Cmp(exact(a)) >= 0 {
			t.Fatalf("the root of %v is %v, and the next below is enough", a, r)
		}
	})
}

func TestExactResultsStayAsTheyAre(t *testing.T) {
	for what, c := range map[string][2]float64{
		"1 + 2": {SumUp(1, 2), 3}, "0.5·0.25": {ProductUp(0.5, 0.25), 0.125}, "3/4": {QuotientUp(3, 4), 0.75},
		"3/4 down": {QuotientDown(3, 4), 0.75},
		"√4":       {RootUp(4), 2}, "√0": {RootUp(0), 0}, "0·5": {ProductUp(0, 5), 0}, "0/5": {QuotientUp(0, 5), 0},
		"0/5 down": {QuotientDown(0, 5), 0},
		"∞ + 1":    {SumUp(math.Inf(1), 1), math.Inf(1)}, "∞·2": {ProductUp(math.Inf(1), 2), math.Inf(1)},
		"1e308/1e-308 down": {QuotientDown(1e308, 1e-308), math.MaxFloat64},
		"2^53":              {IntegerUp(1 << 53), 0x1p53}, "2^53 + 1": {IntegerUp(1<<53 + 1), 0x1p53 + 2},
		"2^64 − 1": {IntegerUp(math.MaxUint64), 0x1p64},
		"1e-300·1": {ProductUp(1e-300, 1), 1e-300},
		"1e-310/1": {QuotientUp(1e-310, 1), 1e-310}, "1e-310/1 down": {QuotientDown(1e-310, 1), 1e-310},
		"√2^-1074": {RootUp(0x1p-1074), 0x1p-537}, "√∞": {RootUp(math.Inf(1)), math.Inf(1)},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %v, want %v", what, c[0], c[1])
		}
	}
}
