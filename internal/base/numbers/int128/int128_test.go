package int128

import (
	"bytes"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// wide draws integers of every length, and those next to powers of two.
func wide() *rapid.Generator[Uint] {
	return rapid.Custom(func(t *rapid.T) Uint {
		u := Uint{rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")}
		if rapid.Bool().Draw(t, "edge") {
			u = Max
		}
		u, _ = u.Rsh(rapid.UintRange(0, 128).Draw(t, "shorter"))
		if rapid.Bool().Draw(t, "more") {
			u, _ = u.Add(Uint{Lo: 1})
		}
		return u
	})
}

// limited returns v as a Uint, or Max or 0 if it does not fit.
func limited(v *big.Int) (Uint, bool) {
	switch {
	case v.Sign() < 0:
		return Uint{}, false
	case v.BitLen() > 128:
		return Max, false
	}
	u, ok := FromBig(v)
	return u, ok
}

func TestArithmeticIsThatOfBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := wide().Draw(t, "a"), wide().Draw(t, "b")
		x, y := a.Big(), b.Big()
		expect := func(what string, got Uint, ok bool, exact *big.Int) {
			t.Helper()
			if want, fits := limited(exact); got != want || ok != fits {
				t.Fatalf("%s of %v and %v is %v (%v), want %v (%v)", what, x, y, got, ok, want, fits)
			}
		}
		sum, ok := a.Add(b)
		expect("the sum", sum, ok, new(big.Int).Add(x, y))
		difference, ok := a.Sub(b)
		expect("the difference", difference, ok, new(big.Int).Sub(x, y))
		expect("the product of the halves", Mul(a.Lo, b.Lo), true,
			new(big.Int).Mul(new(big.Int).SetUint64(a.Lo), new(big.Int).SetUint64(b.Lo)))
		if a.Cmp(b) != x.Cmp(y) || a.Len() != x.BitLen() || a.ByteLen() != len(x.Bytes()) {
			t.Fatalf("%v: compared with %v %d, length %d and %d", x, y, a.Cmp(b), a.Len(), a.ByteLen())
		}
		if f, _ := new(big.Float).SetInt(x).Float64(); math.Abs(a.Float(-80)-math.Ldexp(f, -80)) > math.Ldexp(f, -132) {
			t.Fatalf("%v·2^-80 is %g", x, a.Float(-80))
		}
	})
}

func TestScalingRoundsToTheSideAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, shift, up := wide().Draw(t, "a"), rapid.IntRange(-200, 200).Draw(t, "shift"), rapid.Bool().Draw(t, "up")
		exact := a.Big()
		if shift >= 0 {
			exact.Lsh(exact, uint(shift))
		} else {
			if up {
				exact.Add(exact, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(-shift)), big.NewInt(1)))
			}
			exact.Rsh(exact, uint(-shift))
		}
		want, fits := limited(exact)
		if got, ok := a.Scale(shift, up); got != want || ok != fits {
			t.Fatalf("%v·2^%d, up: %v, is %v (%v), want %v (%v)", a, shift, up, got, ok, want, fits)
		}
	})
}

func TestFloatsAreScaledExactly(t *testing.T) {
	for _, f := range []float64{0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, 0x1p-80, 0x1.8p-80, 1,
		0x1.fffffffffffffp47, 0x1p48, math.MaxFloat64} {
		for _, up := range []bool{false, true} {
			exact, accuracy := new(big.Float).SetMantExp(big.NewFloat(f), 80).Int(nil)
			if up && accuracy == big.Below {
				exact.Add(exact, big.NewInt(1))
			}
			want, fits := limited(exact)
			mantissa, exponent := Split(f)
			if got, ok := (Uint{Lo: mantissa}).Scale(exponent+80, up); got != want || ok != fits {
				t.Errorf("%g, up: %v, is %v (%v), want %v (%v)", f, up, got, ok, want, fits)
			}
		}
	}
}

func TestEveryFormComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := wide().Draw(t, "a")
		if got, ok := FromBytes(a.AppendBinary(nil)); got != a || !ok {
			t.Fatalf("%v came back as %v", a, got)
		}
		minimal := a.AppendMinimal([]byte("x"))[1:]
		if got, ok := FromMinimal(minimal); got != a || !ok || !bytes.Equal(minimal, a.Big().Bytes()) {
			t.Fatalf("%v came back as %v from %x", a, got, minimal)
		}
		if got, ok := FromBig(a.Big()); got != a || !ok {
			t.Fatalf("%v came back as %v", a, got)
		}
	})
	for _, b := range [][]byte{{0}, {0, 1}, make([]byte, 17), bytes.Repeat([]byte{1}, 17)} {
		if _, ok := FromMinimal(b); ok {
			t.Errorf("%x was read", b)
		}
	}
	for _, v := range []*big.Int{nil, big.NewInt(-1), new(big.Int).Lsh(big.NewInt(1), 128)} {
		if _, ok := FromBig(v); ok {
			t.Errorf("%v was read", v)
		}
	}
	if _, ok := FromBytes(make([]byte, 15)); ok {
		t.Error("15 bytes were read")
	}
}

func TestSumsOfEitherSignAreExact(t *testing.T) {
	edge := rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64})
	rapid.Check(t, func(t *rapid.T) {
		var sum Int
		exact := new(big.Int)
		for _, n := range rapid.SliceOfN(rapid.OneOf(rapid.Int64(), edge), 0, 40).Draw(t, "numbers") {
			sum = sum.Add(n)
			exact.Add(exact, big.NewInt(n))
			times := rapid.Uint64Range(0, math.MaxInt64).Draw(t, "times")
			got, want := Int{Hi: -1, Lo: 5}.AddTimes(n, times), new(big.Int).Mul(big.NewInt(n),
				new(big.Int).SetUint64(times))
			high := new(big.Int).Lsh(big.NewInt(got.Hi+1), 64)
			if high.Add(high, new(big.Int).SetUint64(got.Lo)).Sub(high, big.NewInt(5)).Cmp(want) != 0 {
				t.Fatalf("%d times %d is %v", times, n, got)
			}
			if abs := (Int{}).AddTimes(n, times).Abs(); abs.Big().Cmp(want.Abs(want)) != 0 {
				t.Fatalf("%d times %d is %v without its sign", times, n, abs)
			}
		}
		parts := new(big.Int)
		sum.Parts(func(n int64) { parts.Add(parts, big.NewInt(n)) })
		if parts.Cmp(exact) != 0 {
			t.Fatalf("the parts add up to %v, want %v", parts, exact)
		}
		for _, most := range []int64{math.MaxInt64, 1 << 40} {
			want := new(big.Int).Set(exact)
			if want.CmpAbs(big.NewInt(most)) > 0 {
				want.SetInt64(most * int64(exact.Sign()))
			}
			if got := sum.Clamp(-most, most); got != want.Int64() {
				t.Fatalf("%v is clamped to %d, want %v", exact, got, want)
			}
		}
	})
}
