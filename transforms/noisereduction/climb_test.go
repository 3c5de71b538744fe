package noisereduction

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/units"
)

func compile(t testing.TB, s Spec) *Plan {
	t.Helper()
	p, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refineByHand recomputes a release from the sampler and the ladder with rationals: the mean, and
// the ladder point of each rung.
func refineByHand(t *testing.T, p *Plan, id Identity, count int64, r Result) *big.Rat {
	t.Helper()
	var s Sampler
	ladder := p.Ladder()
	sum, before, index := new(big.Rat), units.Precision{}, 0
	for rung := 1; ; rung++ {
		u := ladder[index]
		y, exponent, err := s.Draw(testKey(), id, rung, before, u, count)
		if err != nil {
			t.Fatal(err)
		}
		increment, _ := u.Sub(before)
		term := new(big.Rat).SetFrac(y, new(big.Int).Lsh(big.NewInt(1), exponent))
		sum.Add(sum, term.Mul(term, new(big.Rat).SetInt(increment.Big())))
		if rung == r.Rungs {
			if u != r.Precision {
				t.Fatalf("rung %d is at precision %v, the release says %v", rung, u, r.Precision)
			}
			return sum.Quo(sum, new(big.Rat).SetInt(u.Big()))
		}
		// The next point from the estimate so far, by the rule's definition.
		est, _ := new(big.Rat).Quo(sum, new(big.Rat).SetInt(u.Big())).Float64()
		score := est * math.Sqrt(u.Float())
		index = min(index+p.jump(int64(math.Ldexp(score, scoreBits))), len(ladder)-1)
		before = u
	}
}

func TestValueIsTheExactMean(t *testing.T) {
	p := compile(t, Spec{Kind: Adaptive, First: precision(t, 1e6), Top: precision(t, 3), Target: Target{Relative: .05,
		Confidence: .95}})
	id := testIdentity()
	for _, count := range []int64{0, 7, 500, 123_456, MaxCount, -7, -123_456, -MaxCount} {
		for i := range 20 {
			id.WindowStart = int64(i)
			r, err := p.Release(testKey(), id, count)
			if err != nil {
				t.Fatal(err)
			}
			mean := shifted(refineByHand(t, p, id, count, r), valueBits)
			off := mean.Sub(mean, new(big.Rat).SetInt64(r.Value))
			if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
				t.Fatalf("count %d: value is %v units of 2^-10 off the mean", count, off)
			}
		}
	}
}

func TestRoundQuotientIsHalfEven(t *testing.T) {
	for _, test := range []struct{ a, b, want int64 }{
		{1, 2, 0}, {3, 2, 2}, {5, 2, 2}, {-1, 2, 0}, {-3, 2, -2}, {-5, 2, -2}, {7, 4, 2}, {-7, 4, -2}, {5, 4, 1},
		{-5, 4, -1}, {0, 3, 0},
	} {
		if got := roundQuotient(big.NewInt(test.a), big.NewInt(test.b)); got != test.want {
			t.Errorf("%d/%d rounds to %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// TestReleaseNeverExceedsTop, is consistent, and is the same when asked
// again, for arbitrary ladders and counts.
func TestReleaseNeverExceedsTop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.Float64Range(1e-10, 1e6).Draw(t, "top")
		first := top * math.Exp2(-rapid.Float64Range(0, 30).Draw(t, "octaves"))
		s := Spec{Kind: Adaptive, Target: Target{Confidence: rapid.Float64Range(.8, .999).Draw(t, "confidence")}}
		if rapid.Bool().Draw(t, "relative") {
			s.Target.Relative = rapid.Float64Range(.01, .5).Draw(t, "r")
		}
		if rapid.Bool().Draw(t, "absolute") {
			s.Target.Absolute = rapid.Float64Range(.01, 1e6).Draw(t, "floor")
		}
		if rapid.Bool().Draw(t, "geometric") {
			s.Kind, s.Factor = Geometric, rapid.Float64Range(1.05, 16).Draw(t, "factor")
		}
		var err error
		if s.First, err = units.PrecisionFromFloat(first, units.RoundDown); err != nil {
			t.Fatal(err)
		}
		if s.Top, err = units.PrecisionFromFloat(top, units.RoundUp); err != nil {
			t.Fatal(err)
		}
		p, err := Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		count := rapid.Int64Range(-MaxCount, MaxCount).Draw(t, "count")
		r, err := p.Release(testKey(), testIdentity(), count)
		if err != nil {
			t.Fatal(err)
		}
		value := math.Ldexp(float64(r.Value), -valueBits)
		if r.Precision.Cmp(s.Top) > 0 || r.Precision.Cmp(s.First) < 0 {
			t.Fatalf("precision %v is outside first and top", r.Precision)
		}
		if !r.Passed || r.Rungs < 1 || r.Low > value || r.High < value || math.IsNaN(r.StdDev) {
			t.Fatalf("inconsistent release %+v", r)
		}
		if r.Met && s.Target.Relative == 0 && s.Target.Absolute == 0 {
			t.Fatal("met without a target")
		}
		if again, err := p.Release(testKey(), testIdentity(), count); err != nil || again != r {
			t.Fatalf("released %+v, then %+v, %v", r, again, err)
		}
	})
}

// TestRuleSameInputsSameBytes pins the bytes of one release, and a digest of many.
func TestRuleSameInputsSameBytes(t *testing.T) {
	p := compile(t, Spec{Kind: Geometric, Factor: 2, First: precision(t, 1e4), Top: precision(t, 100),
		Target: Target{Absolute: 400, Confidence: .95}})
	r, err := p.Release(testKey(), testIdentity(), 12345)
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		Passed: true, Value: 12568155, StdDev: 204.0853827698587, Low: 11873.587890625, High: 12673.58984375,
		Precision: units.Precision{Hi: 0x1, Lo: 0x92ce60018fc3edb8}, Rungs: 13, Met: true,
	}
	if r != want {
		t.Errorf("released %#v, want %#v", r, want)
	}
	// Nor does a release depend on those before it.
	const digest = "227f4faebd5f3f0981dad661ecdc632c"
	for range 2 {
		if got := releasedDigest(t, p); got != digest {
			t.Errorf("the digest of many releases is %s, want %s: a change of noise needs another noiseFormat", got,
				digest)
		}
	}
}

// releasedDigest returns a digest of releases along an adaptive ladder and a geometric one.
func releasedDigest(t *testing.T, geometric *Plan) string {
	t.Helper()
	adaptive := compile(t, Spec{
		Kind: Adaptive, First: precision(t, 1e4), Top: precision(t, 3), Target: Target{Relative: .05, Confidence: .95},
		Private: private(t, 3, 1e-6),
	})
	h, id := sha256.New(), testIdentity()
	for _, p := range []*Plan{adaptive, geometric} {
		for _, count := range []int64{0, 7, -7, 12_345, 1_000_000, MaxCount} {
			for id.WindowStart = range int64(20) {
				r, err := p.Release(testKey(), id, count)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(h, "%+v\n", r)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// TestWithoutTargetHugeCountsAreNotMet: a score beyond 64 bits saturated onto the barrier that
// means "never".
func TestWithoutTargetHugeCountsAreNotMet(t *testing.T) {
	s := Spec{Kind: Adaptive, Target: Target{Confidence: .95}, First: units.Precision{Hi: 1 << 15},
		Top: units.Precision{Hi: 1 << 16}}
	p, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Release(testKey(), testIdentity(), 1<<40)
	if err != nil || r.Met || r.Precision != s.Top {
		t.Errorf("released %+v, %v: met without a target, or stopped below the top", r, err)
	}
}
