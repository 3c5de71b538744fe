package runs

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed" // seeds rapid
)

// However many runs there are, and however long: the result is sorted, and neither memory is lost
// nor an item.
func TestRunsAreMergedInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []int
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			longest := rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "length")
			run := rapid.SliceOfN(rapid.IntRange(0, 300), 0, longest).Draw(t, "run")
			if rapid.IntRange(0, 9).Draw(t, "in order") > 0 {
				slices.Sort(run)
			}
			items = append(items, run...)
		}
		want := slices.Sorted(slices.Values(items))
		spare := make([]int, rapid.IntRange(0, 100).Draw(t, "spare"))
		got, rest := Sort(slices.Clone(items), spare, cmp.Compare)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		clear(rest[:cap(rest)])
		if !slices.Equal(got, want) {
			t.Fatal("the rest is not apart from what is sorted")
		}
	})
}
