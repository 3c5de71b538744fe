package accounting

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
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
