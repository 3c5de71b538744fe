package search

import (
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

func TestItFindsWhereTheConditionBeginsFromAnyStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Uint64Range(0, math.MaxUint64-1).Draw(t, "lo")
		hi := rapid.Uint64Range(lo+1, math.MaxUint64).Draw(t, "hi")
		want := rapid.Uint64Range(lo+1, hi).Draw(t, "want")
		start := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(want-min(want, 100), want)).Draw(t, "start")
		calls := 0
		got := Least(lo, hi, start, func(n uint64) bool {
			if calls++; n <= lo || n >= hi {
				t.Fatalf("it asks for %d, outside of (%d, %d)", n, lo, hi)
			}
			return n >= want
		})
		if got != want {
			t.Fatalf("got %d", got)
		}
		allowed := 2*64 + 2
		if start > lo && start < hi {
			allowed = 2*bits.Len64(max(start, want)-min(start, want)) + 3
		}
		if calls > allowed {
			t.Fatalf("%d evaluations, %d at most", calls, allowed)
		}
	})
}
