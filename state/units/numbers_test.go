package units

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

func anyPrecision(t *rapid.T) Precision {
	// Shifts make small, sparse and full values equally likely.
	shift := rapid.UintRange(0, 127).Draw(t, "shift")
	p := Precision{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
	return must.Have(PrecisionFromBig(new(big.Int).Rsh(p.Big(), shift)))
}

func anyContribution(t *rapid.T) uint64 {
	return rapid.Uint64().Draw(t, "c") >> rapid.UintRange(0, 63).Draw(t, "cshift")
}

// exactCharge returns c²·u in account units as a rational number.
func exactCharge(c uint64, u Precision) *big.Rat {
	v := new(big.Int).SetUint64(c)
	v.Mul(v, v)
	v.Mul(v, u.Big())
	return new(big.Rat).SetFrac(v, new(big.Int).Lsh(big.NewInt(1), 40))
}

func TestRuleChargesAreRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, u := anyContribution(t), anyPrecision(t)
		exact := exactCharge(c, u)
		got, ok := Charge(c, u)
		charged := new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(got)))
		if !ok {
			if got != MaxMu2 || exact.Cmp(charged) <= 0 {
				t.Fatalf("charge of %d at %v refused as %d, but it is %v", c, u, got, exact)
			}
			return
		}
		excess := new(big.Rat).Sub(charged, exact)
		if excess.Sign() < 0 || excess.Cmp(big.NewRat(1, 1)) >= 0 {
			t.Fatalf("charge of %d at %v is %d, which is not %v rounded up", c, u, got, exact)
		}
	})
}

func TestRuleOverflowIsNotARefund(t *testing.T) {
	u := must.Have(PrecisionFromSigma(100))
	exact := exactCharge(1_000_000, u)
	wrapped := new(big.Int).Quo(exact.Num(), exact.Denom())
	wrapped.And(wrapped, new(big.Int).SetUint64(math.MaxUint64))
	if exact.Cmp(new(big.Rat).SetInt(wrapped)) <= 0 {
		t.Fatal("the example does not overflow 64 bits")
	}
	m, ok := Charge(1_000_000, u)
	if ok || m != MaxMu2 {
		t.Fatalf("charge of 10^6 at σ = 100 is %d, %v; it does not fit an account (64 bits would say %v)", m, ok,
			wrapped)
	}
	// Charges of powers of two: each word of the product overflows by itself.
	for c := range uint(64) {
		for u := range uint(128) {
			power := Precision{Lo: 1 << u} // 0 if u is 64 or more
			if u >= 64 {
				power.Hi = 1 << (u - 64)
			}
			m, ok := Charge(1<<c, power)
			if fits := 2*c+u < 104; ok != fits || !fits && m != MaxMu2 || fits && m != 1<<(max(2*c+u, 40)-40) {
				t.Errorf("charge of 2^%d at 2^%d units is %d, %v", c, u, m, ok)
			}
		}
	}
	if m, ok := Charge(1, Precision{Hi: 1<<40 - 1, Lo: math.MaxUint64}); ok || m != MaxMu2 {
		t.Errorf("a charge that leaves 64 bits by being rounded up is %d, %v", m, ok)
	}
}

// Brownian noise reduction telescopes: a ladder costs what its last rung costs.
func TestRuleOnlyTheLastPrecisionIsPaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Uint64Range(1, 1000).Draw(t, "c")
		var u Precision
		var rungs, steps int
		var separately Mu2
		for range rapid.IntRange(1, 8).Draw(t, "rungs") {
			step := must.Have(PrecisionFromFloat(rapid.Float64Range(1e-9, 1e-3).Draw(t, "step"), RoundUp))
			next, _ := u.Add(step)
			if back, ok := next.Sub(u); !ok || back != step {
				t.Fatal("increments of precision do not telescope")
			}
			m, _ := Charge(c, step)
			separately, _ = separately.Add(m)
			u = next
			rungs++
			steps++
		}
		whole, ok := Charge(c, u)
		if !ok || whole > separately || uint64(separately-whole) > uint64(steps) {
			t.Fatalf("the last precision costs %d, its %d increments %d", whole, rungs, separately)
		}
	})
}

func TestPrecisionRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := anyPrecision(t), anyPrecision(t)
		if back, err := PrecisionFromBig(p.Big()); err != nil || back != p {
			t.Fatalf("through big.Int: %v, %v", back, err)
		}
		if b := p.AppendBinary([]byte("x")); len(b) != 1+WideSize || new(big.Int).SetBytes(b[1:]).Cmp(p.Big()) != 0 {
			t.Fatalf("%v is written %x", p, b)
		}
		d := Delta(p)
		if back, err := DeltaFromBig(d.Big()); err != nil || back != d {
			t.Fatalf("δ through big.Int: %v, %v", back, err)
		}
		if got, want := p.Cmp(q), p.Big().Cmp(q.Big()); got != want || d.Cmp(Delta(q)) != want {
			t.Fatalf("Cmp = %d, want %d", got, want)
		}
		sum, ok := p.Add(q)
		exact := new(big.Int).Add(p.Big(), q.Big())
		if ok != (exact.BitLen() <= 128) || ok && sum.Big().Cmp(exact) != 0 ||
			!ok && sum != (Precision{math.MaxUint64, math.MaxUint64}) {
			t.Fatalf("%v + %v = %v, %v", p, q, sum, ok)
		}
		diff, ok := p.Sub(q)
		if dd, dok := d.Sub(Delta(q)); dd != Delta(diff) || dok != ok {
			t.Fatalf("δ subtracts otherwise: %v, %v", dd, dok)
		}
		exact.Sub(p.Big(), q.Big())
		if ok != (exact.Sign() >= 0) || ok && diff.Big().Cmp(exact) != 0 || !ok && !diff.IsZero() {
			t.Fatalf("%v - %v = %v, %v", p, q, diff, ok)
		}
		asFloat, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(p.Big()), -80).Float64()
		if math.Abs(p.Float()-asFloat) > asFloat*0x1p-52 {
			t.Fatalf("Float() = %v, want %v", p.Float(), asFloat)
		}
	})
}

func TestPrecisionFromFloatRoundsAsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(0, 0x1p47).Draw(t, "f")
		f = math.Ldexp(f, -rapid.IntRange(0, 140).Draw(t, "scale"))
		down, err1 := PrecisionFromFloat(f, RoundDown)
		up, err2 := PrecisionFromFloat(f, RoundUp)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		units := new(big.Rat).SetFloat64(f)
		units.Mul(units, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 80)))
		low := new(big.Rat).SetInt(down.Big())
		high := new(big.Rat).SetInt(up.Big())
		if low.Cmp(units) > 0 || high.Cmp(units) < 0 || new(big.Rat).Sub(high, low).Cmp(big.NewRat(1, 1)) > 0 {
			t.Fatalf("%v lies between %v and %v", units, low, high)
		}
		if units.IsInt() && down != up {
			t.Fatalf("%v is exact, yet %v ≠ %v", f, down, up)
		}
	})
}

func TestPrecisionFromSigmaIsRoundedUp(t *testing.T) {
	u := must.Have(PrecisionFromSigma(100))
	want := new(big.Int).Lsh(big.NewInt(1), 80)
	want.Add(want.Div(want, big.NewInt(10_000)), big.NewInt(1)) // 10^4 does not divide 2^80
	if u.Big().Cmp(want) != 0 {
		t.Errorf("u(100) = %v, want %v", u.Big(), want)
	}
	if u, err := PrecisionFromSigma(0x1p40); err != nil || u != (Precision{Lo: 1}) {
		t.Errorf("u(2^40) = %v, %v; want one unit", u, err)
	}
}

func TestNumbersOutOfRangeAreTypedErrors(t *testing.T) {
	_, e1 := PrecisionFromSigma(math.NaN())
	_, e2 := PrecisionFromSigma(0)
	_, e3 := PrecisionFromSigma(math.Inf(1))
	_, e4 := PrecisionFromFloat(-1e-9, RoundDown)
	_, e5 := PrecisionFromFloat(0x1p48, RoundUp)
	_, e6 := DeltaFromFloat(math.NaN())
	_, e7 := DeltaFromFloat(1.5)
	_, e8 := PrecisionFromBig(big.NewInt(-1))
	_, e9 := DeltaFromBig(new(big.Int).Lsh(big.NewInt(1), 128))
	_, e10 := PrecisionFromBig(nil)
	for i, err := range []error{e1, e2, e3, e4, e5, e6, e7, e8, e9, e10} {
		var r *RangeError
		if !errors.As(err, &r) || !strings.Contains(err.Error(), r.Parameter+" is ") ||
			!strings.Contains(err.Error(), "must be "+r.Range) {
			t.Errorf("case %d: %v is not a *RangeError with parameter and range", i+1, err)
		}
	}
}
