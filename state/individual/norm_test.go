package individual

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/numbers/int128"
)

// large draws integers of any size, the extremes more often than chance would.
func large() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(-1<<32, 1<<32),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, -1, 0, 1, 1 << 32, 1<<32 - 1}),
	)
}

func TestSquaredNormIsExactOrSaturates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vector := rapid.SliceOfN(large(), 0, 6).Draw(t, "vector")
		exact := new(big.Int)
		for _, v := range vector {
			exact.Add(exact, new(big.Int).Mul(big.NewInt(v), big.NewInt(v)))
		}
		want := SquaredNorm(math.MaxUint64)
		if exact.IsUint64() {
			want = SquaredNorm(exact.Uint64())
		}
		if got := squaredNorm(vector); got != want {
			t.Fatalf("%v: %d, want %d", vector, got, want)
		}
	})
}

func TestSumsAreClampedAndNeverWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sum int128.Int
		exact := new(big.Int)
		for _, v := range rapid.SliceOfN(large(), 0, 40).Draw(t, "values") {
			sum = sum.Add(v)
			exact.Add(exact, big.NewInt(v))
		}
		want := int64(math.MaxInt64)
		switch {
		case exact.IsInt64():
			want = exact.Int64()
		case exact.Sign() < 0:
			want = math.MinInt64
		}
		if got := sum.Clamp(math.MinInt64, math.MaxInt64); got != want {
			t.Fatalf("the sum %v is clamped to %d, want %d", exact, got, want)
		}
	})
}
