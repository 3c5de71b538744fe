package spend

import (
	"errors"
	"math/big"
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
		var p Partials
		want := new(big.Int)
		for range rapid.IntRange(1, 40).Draw(t, "shards") {
			n := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-most, most), rapid.Int64Range(-9, 9)).Draw(t, "count")
			p = append(p, schemas.Partial{Cells: []schemas.Cell{{Key: []byte("a"), Count: n}}})
			want.Add(want, big.NewInt(n))
		}
		if limit := big.NewInt(most); want.CmpAbs(limit) > 0 {
			want.Mul(limit, big.NewInt(int64(want.Sign())))
		}
		if got := p.Counts()[Place{Key: "a"}]; got != want.Int64() {
			t.Fatalf("the sum is %d, want %v", got, want)
		}
	})
}

// Before a turn is released the records that the shards saw must add up to what
// READ says it packed: runners have lost records.
func TestRuleReadAndSpendCountTheSameRecords(t *testing.T) {
	partials := func(total uint64, records ...uint64) Partials {
		out := make(Partials, len(records))
		for i, n := range records {
			out[i] = schemas.Partial{Turn: 7, Shard: uint32(i), Shards: uint32(len(records)), Records: n, Total: total}
		}
		return out
	}
	if err := partials(6, 1, 2, 3).Balanced(0); err != nil {
		t.Errorf("equal numbers: %v", err)
	}
	for _, p := range []Partials{partials(7, 1, 2, 3), partials(5, 1, 2, 3), partials(1, 0, 0, 0)} {
		var stop *StopError
		if err := p.Balanced(0); !errors.As(err, &stop) || stop.Turn != 7 {
			t.Errorf("%d records announced: %v, want a stop at turn 7", p[0].Total, err)
		}
	}
}
