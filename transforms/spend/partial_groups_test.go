package spend

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
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
			n := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MaxInt64, math.MaxInt64, math.MinInt64}), rapid.Int64Range(-most, most), rapid.Int64Range(-9, 9)).Draw(t, "count")
			p = append(p, schemas.Partial{Cells: []schemas.Cell{{Key: []byte("a"), Count: n}}})
			want.Add(want, big.NewInt(n))
		}
		if limit := big.NewInt(most); want.CmpAbs(limit) > 0 {
			want.Mul(limit, big.NewInt(int64(want.Sign())))
		}
		if got := p.Counts(); !slices.Equal(got, []Count{{Cell{Key: "a"}, want.Int64()}}) {
			t.Fatalf("the sum is %v, want %v", got, want)
		}
	})
}

// TestCountsAreInOrderOfCells: shards bring their cells in orders of their own.
func TestCountsAreInOrderOfCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Partials
		sums := map[Cell]int64{}
		for range rapid.IntRange(0, 5).Draw(t, "shards") {
			var partial schemas.Partial
			for range rapid.IntRange(0, 40).Draw(t, "cells") {
				at := Cell{rapid.Uint32Range(0, 1).Draw(t, "metric"), rapid.Int64Range(0, 1).Draw(t, "start"), rapid.Int64Range(2, 3).Draw(t, "end"), rapid.StringN(0, 2, 2).Draw(t, "key")}
				n := rapid.Int64Range(-5, 5).Draw(t, "count")
				sums[at] += n
				partial.Cells = append(partial.Cells, schemas.Cell{Metric: at.Metric, WindowStart: at.Start, WindowEnd: at.End, Key: []byte(at.Key), Count: n})
			}
			p = append(p, partial)
		}
		got := p.Counts()
		for i, c := range got {
			if want, there := sums[c.Cell]; !there || c.Sum != want || i > 0 && got[i-1].Compare(c.Cell) >= 0 {
				t.Fatalf("%v: the sum is %d, %v; after %v", c, want, there, got[:i])
			}
		}
		if len(got) != len(sums) {
			t.Fatalf("%d cells, want %d", len(got), len(sums))
		}
	})
}

// drawReservations gives the users of a shard amounts up to the ends of 64 bits.
func drawReservations(t *rapid.T, want *big.Int) (r reservations) {
	amount := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MaxInt64, math.MaxInt64, math.MinInt64, 1 << 62, 1, -1}), rapid.Int64Range(-1<<36, 1<<36))
	for user := range rapid.IntRange(0, 20).Draw(t, "users") {
		n := amount.Draw(t, "amount")
		r.add(&member{ContribUser: schemas.ContribUser{ID: testID(user)}}, 0, 0, &clipper{kept: []kept{{total: n}}})
		want.Add(want, big.NewInt(n))
	}
	return r
}

// TestRuleAShardsCountsAreExact: what the users of a shard add up to leaves 64 bits
// when there are enough of them, and still the count of all shards is the exact
// sum, cut once.
func TestRuleAShardsCountsAreExact(t *testing.T) {
	m := publicMetric("m", "a")
	m.Kind = metrickind.Sum
	s := deployment(100, m)
	rapid.Check(t, func(t *rapid.T) {
		var p Partials
		want := new(big.Int)
		some := false
		for shard := range rapid.IntRange(1, 4).Draw(t, "shards") {
			a := newShardAccounts(mustRules(t, s), oneSlice{})
			d := decision{delta: &schemas.Delta{Turn: 1, Windows: s.windows(1), Tallies: make([]schemas.WindowTally, 1)}, reservations: drawReservations(t, want)}
			d.ended = &endedWindows{windows: d.delta.Windows, contributions: []*contributions{{keys: [][]byte{[]byte("a")}}}}
			a.decided = []decision{d}
			some = some || len(d.reservations.list) > 0
			blobs, err := a.partials(shard, &schemas.Open{Turn: 1, First: 1})
			if err != nil {
				t.Fatal(err)
			}
			partial, err := schemas.DecodePartial(blobs[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			p = append(p, partial)
		}
		if limit := big.NewInt(noisereduction.MaxCount); want.CmpAbs(limit) > 0 {
			want.Mul(limit, big.NewInt(int64(want.Sign())))
		}
		var counts []Count
		if some {
			counts = []Count{{Cell{End: testTurn, Key: "a"}, want.Int64()}}
		}
		if got := p.Counts(); !slices.Equal(got, counts) {
			t.Fatalf("the count is %v, want %v", got, want)
		}
	})
}

func mustRules(t rapid.TB, s settings) *Rules {
	rules, err := NewRules(s.budget, testHashKey, s.metrics, s.shards, s.releaseShards, s.slots)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// TestRuleWhatOneUserAddsStaysInRange: bounds that would let one user's own sum
// wrap are refused, for the further components as well.
func TestRuleWhatOneUserAddsStaysInRange(t *testing.T) {
	sum, quantiles, average, deviation := metrickind.Sum, metrickind.Quantiles, metrickind.Mean, metrickind.StandardDeviation
	for _, c := range []struct {
		kind     string // what is released beside quantiles; or a sum, or quantiles
		min, max int64
		events   uint32
		fits     bool
	}{
		{sum, 0, math.MaxInt64, 1, true}, {sum, -math.MaxInt64, 0, 1, true}, {sum, -5, -1, math.MaxUint32, true}, {sum, 0, 1 << 36, 1 << 26, true},
		{sum, 0, math.MaxInt64, 2, false}, {sum, -math.MaxInt64, 0, 2, false}, {sum, math.MinInt64, 0, 1, false}, {sum, 0, 1 << 36, 1 << 27, false}, {sum, -1 << 36, 5, 1 << 27, false},
		{sum, 0, 1 << 36, 1 << 28, false}, {sum, -1 << 40, 0, 1 << 31, false}, // 2^64 and 2^71: 0 in 64 bits
		{sum, 1 << 60, -1 << 60, 16, false}, {sum, 1, 0, 1, false}, // every value is clamped to max: −2^64 is 0 in 64 bits
		{average, 0, 1 << 36, 1 << 24, true}, {average, -1 << 36, 0, 1 << 24, true}, {average, -1 << 36, 1 << 36, 1 << 25, false}, {average, 1 << 36, -1 << 36, 1, false},
		{quantiles, -1 << 36, 1 << 36, 1 << 30, true}, {quantiles, 0, 1 << 36, 1<<30 + 1, false}, {quantiles, math.MinInt64, 0, 1, false}, {quantiles, 5, -5, 1, false},
		{deviation, 0, 1 << 30, 1, true}, {deviation, 0, 1 << 30, 2, false}, {deviation, -1 << 36, 1 << 36, 1, false}, {deviation, 5, -5, 1, false},
	} {
		m := publicMetric("m", "a")
		m.Kind, m.Min, m.Max, m.MaxEventsPerKey = c.kind, c.min, c.max, c.events
		metrics := []schemas.MetricSpec{m}
		switch c.kind {
		case sum:
		case quantiles:
			metrics = append(metrics, furtherOf(&metrics[0])...)
		default:
			metrics[0].Kind = quantiles
			metrics = append(metrics, furtherOf(&metrics[0], c.kind)...)
		}
		if _, err := NewRules(budgets.Budget{Mu2: 1}, testHashKey, metrics, 1, 1, 4); (err == nil) != c.fits {
			t.Errorf("%s: %d events from %d to %d: %v", c.kind, c.events, c.min, c.max, err)
		}
	}
}

// Before a turn is released the records that the shards saw must add up to what
// READ says it packed: runners have lost records, and repeated some.
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
	cs := []contribution{{user: 1, key: "a", n: 2}, {user: 2, key: "a", n: 3}}
	for name, c := range map[string]struct {
		bring    [][]contribution // by batch
		balanced bool
	}{
		"all records":      {[][]contribution{cs[:1], cs[1:]}, true},
		"a batch is lost":  {[][]contribution{cs[1:]}, false},
		"all are lost":     {nil, false},
		"a batch is twice": {[][]contribution{cs[:1], cs[1:], cs[1:]}, false},
	} {
		w := mustWorld(t, oneMetric())
		blobs := [][]byte{schemas.EncodeOpen(schemas.Open{Epoch: w.epoch, First: 1, Turn: 1, Contributions: records(cs), Shards: 1, SettledAt: -1})}
		for _, batch := range c.bring {
			blobs = append(blobs, w.batch(w.epoch, 1, 0, batch))
		}
		pending, err := w.spend(0, blobs)
		if err != nil {
			t.Fatal(err)
		}
		out, err := pending.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range out { // one for each release shard
			p, err := NewestPartials([][]byte{b.Data})
			if err != nil || !p.Complete() {
				t.Fatal(p, err)
			}
			var stop *StopError
			if err := p.Balanced(0); (err == nil) != c.balanced || err != nil && !errors.As(err, &stop) {
				t.Errorf("%s: %v, balanced should be %v", name, err, c.balanced)
			}
		}
	}
}
