package noisereduction

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// randomDigits are test digits: the law tests concern the algorithm, and a
// fast generator lets them see more of it.
type randomDigits struct{ *rand.Rand }

func (r randomDigits) Word() uint64 { return r.Uint64() }

func seededDigits(t testing.TB, seed uint64) randomDigits {
	return randomDigits{rand.New(runseed.PCG(t, seed, 0x70))}
}

// script plays chosen digits, then fails the test.
type script struct {
	t     testing.TB
	words []uint64
}

func (s *script) Word() uint64 {
	if len(s.words) == 0 {
		s.t.Fatal("the sampler asked for more digits than the script has")
	}
	w := s.words[0]
	s.words = s.words[1:]
	return w
}

func TestHalfExpHasItsProbability(t *testing.T) {
	src, n := seededDigits(t, 1), chance.Trials(2_000_000)
	var g normal
	hits := 0
	for range n {
		if g.halfExp(src) {
			hits++
		}
	}
	chance.CheckRate(t, "exp(-1/2)", hits, n, math.Exp(-0.5))
}

// TestIntegerPartOfDeviate, with TestFractionFarInTail, covers tails that no
// sample reaches: the law of the integer part is a product of exp(−1/2)s,
// and for every integer part the fraction is tested on its own.
func TestIntegerPartOfDeviate(t *testing.T) {
	src, n := seededDigits(t, 2), chance.Trials(2_000_000)
	var g normal
	for _, k := range []int{0, 1, 2, 3} {
		hits := 0
		for range n / 4 {
			if g.keepInteger(k, src) {
				hits++
			}
		}
		chance.CheckRate(t, "integer part", hits, n/4, math.Exp(-float64(k*(k-1))/2))
	}
}

// TestFractionFarInTail conditions on |Z| in [k, k+1), up to 30 deviations out, and compares the
// accepted fractions with the quantiles of the normal tail there (KS, critical value 3/√n:
// false-reject rate 3e-8 per k) and their rate with ∫ exp(−x(2k+x)/2) dx: 5e-7 for the test.
func TestFractionFarInTail(t *testing.T) {
	src, n := seededDigits(t, 3), chance.Trials(1_000_000)
	for _, k := range []int{0, 1, 2, 3, 5, 8, 12, 20, 30} {
		var g normal
		var kept []float64
		for range n {
			g.fraction = g.fraction[:0]
			if g.keepFraction(k, src) {
				kept = append(kept, float64(g.fraction.digit(0, src))*0x1p-64)
			}
		}
		mass := scaledTail(k, 0) - scaledTail(k, 1)
		chance.CheckRate(t, "fraction kept", len(kept), n, mass*math.Sqrt(2*math.Pi))
		sort.Float64s(kept)
		ks := 0.0
		for i, x := range kept {
			f := (scaledTail(k, 0) - scaledTail(k, x)) / mass
			ks = max(ks, math.Abs(f-float64(i)/float64(len(kept))), math.Abs(f-float64(i+1)/float64(len(kept))))
		}
		if limit := 3 / math.Sqrt(float64(len(kept))); ks > limit {
			t.Errorf("k = %d: KS distance %.5f from the normal tail, limit %.5f (n = %d)", k, ks, limit, len(kept))
		}
	}
}

// scaledTail returns (1 − Φ(k+x))·e^(k²/2).
func scaledTail(k int, x float64) float64 {
	return 0.5 * math.Erfc((float64(k)+x)/math.Sqrt2) * math.Exp(float64(k*k)/2)
}

// TestRoundingIsRefinedUntilDecided puts the first digit of the fraction on a rounding boundary:
// one digit leaves two candidates, the second decides.
func TestRoundingIsRefinedUntilDecided(t *testing.T) {
	const q, shift = 1 << 63, 40
	// q·2^-40·x = 2^23·x rounds at x = (m+1/2)·2^-23.
	boundary := uint64(5)<<41 + 1<<40 - 1 // the last digit below 5.5·2^-23
	for _, test := range []struct {
		name   string
		digits []uint64
		want   int64
	}{
		{"decided", []uint64{boundary - 1}, 5},
		{"decided above", []uint64{boundary + 1}, 6},
	} {
		var g normal
		g.fraction = append(g.fraction, test.digits...)
		m, ok := roundOne(q, shift, 0, g.fraction[0])
		if !ok || m != test.want {
			t.Errorf("%s: got %d, %v, want %d", test.name, m, ok, test.want)
		}
	}
	// An odd q puts a boundary inside a digit: find that digit by bisection.
	const odd = 1<<63 - 25
	lo, hi := uint64(0), uint64(1)<<50
	base, _ := roundOne(odd, shift, 1, lo)
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if m, ok := roundOne(odd, shift, 1, mid); ok && m == base {
			lo = mid
		} else {
			hi = mid
		}
	}
	if _, ok := roundOne(odd, shift, 1, hi); ok {
		t.Fatal("no undecided digit found")
	}
	for _, test := range []struct {
		second uint64
		want   int64
	}{{0, base}, {math.MaxUint64, base + 1}} {
		g := normal{fraction: deviate{hi}}
		got, err := g.roundMore(odd, shift, 1, &script{t, []uint64{test.second}})
		if err != nil || got != test.want {
			t.Errorf("second digit %d: got %d, %v, want %d", test.second, got, err, test.want)
		}
	}
}

func TestRoundOneIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.Uint64Min(1).Draw(t, "q")
		shift := rapid.UintRange(1, 63).Draw(t, "t")
		k := rapid.Uint64Range(0, maxInteger).Draw(t, "k")
		digit := rapid.Uint64().Draw(t, "digit")
		got, ok := roundOne(q, shift, k, digit)
		var ends [2]*big.Int
		for i := range ends {
			v := new(big.Int).SetUint64(k)
			v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(digit))
			v.Mul(v, new(big.Int).SetUint64(q))
			if i == 1 {
				v.Add(v, new(big.Int).SetUint64(q-1))
			}
			v.Add(v, new(big.Int).Lsh(big.NewInt(1), shift+63))
			ends[i] = v.Rsh(v, shift+64)
		}
		if ok && (ends[0].Cmp(ends[1]) != 0 || ends[0].Cmp(big.NewInt(got)) != 0) {
			t.Fatalf("decided %d, but the ends round to %v and %v", got, ends[0], ends[1])
		}
		if !ok && ends[0].Cmp(ends[1]) == 0 && ends[0].BitLen() < 62 {
			t.Fatalf("undecided, but both ends round to %v", ends[0])
		}
	})
}
