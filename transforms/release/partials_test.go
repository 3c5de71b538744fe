package release

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// TestRuleCountsAreCutOnceAdded: whatever the shards bring, the sum is exact and
// then cut to what can be released.
func TestRuleCountsAreCutOnceAdded(t *testing.T) {
	const most = noisereduction.MaxCount
	rapid.Check(t, func(t *rapid.T) {
		var p partialGroup
		want := new(big.Int)
		for range rapid.IntRange(1, 40).Draw(t, "shards") {
			n := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MaxInt64, math.MaxInt64, math.MinInt64}),
				rapid.Int64Range(-most, most), rapid.Int64Range(-9, 9)).Draw(t, "count")
			p = append(p, schemas.Partial{Cells: []schemas.Cell{{Key: []byte("a"), Count: n}}})
			want.Add(want, big.NewInt(n))
		}
		if limit := big.NewInt(most); want.CmpAbs(limit) > 0 {
			want.Mul(limit, big.NewInt(int64(want.Sign())))
		}
		if got := p.Counts(); !slices.Equal(got, []cellCount{{cellID{Key: "a"}, want.Int64()}}) {
			t.Fatalf("the sum is %v, want %v", got, want)
		}
	})
}

// TestCountsAreInOrderOfCells: shards bring their cells in orders of their own.
func TestCountsAreInOrderOfCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p partialGroup
		sums := map[cellID]int64{}
		for range rapid.IntRange(0, 5).Draw(t, "shards") {
			var partial schemas.Partial
			for range rapid.IntRange(0, 40).Draw(t, "cells") {
				cell := cellID{rapid.Uint32Range(0, 1).Draw(t, "metric"), rapid.Int64Range(0, 1).Draw(t, "start"),
					rapid.Int64Range(2, 3).Draw(t, "end"), rapid.StringN(0, 2, 2).Draw(t, "key")}
				n := rapid.Int64Range(-5, 5).Draw(t, "count")
				sums[cell] += n
				partial.Cells = append(partial.Cells, schemas.Cell{Metric: cell.Metric, WindowStart: cell.Start,
					WindowEnd: cell.End, Key: []byte(cell.Key), Count: n})
			}
			p = append(p, partial)
		}
		got := p.Counts()
		for i, c := range got {
			if want, there := sums[c.cellID]; !there || c.Sum != want || i > 0 && got[i-1].Compare(c.cellID) >= 0 {
				t.Fatalf("%v: the sum is %d, %v; after %v", c, want, there, got[:i])
			}
		}
		if len(got) != len(sums) {
			t.Fatalf("%d cells, want %d", len(got), len(sums))
		}
	})
}
