package spend

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// drawReservations gives the users of a shard amounts up to the ends of 64 bits.
func drawReservations(t *rapid.T, want *big.Int) (r reservations) {
	amount := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MaxInt64, math.MaxInt64, math.MinInt64, 1 << 62,
		1, -1}), rapid.Int64Range(-1<<36, 1<<36))
	for user := range rapid.IntRange(0, 20).Draw(t, "users") {
		n := amount.Draw(t, "amount")
		r.add(&member{ContribUser: schemas.ContribUser{ID: testID(user)}}, 0, 0, &clipper{kept: []kept{{total: n}}})
		want.Add(want, big.NewInt(n))
	}
	return r
}

// Enough users of a shard add up to more than 64 bits, and still its partial counts have the exact
// sum. RELEASE cuts the sum of all shards, once.
func TestRuleAShardsCountsAreExact(t *testing.T) {
	m := publicMetric("m", "a")
	m.Kind = metrickind.Sum
	s := deployment(100, m)
	rapid.Check(t, func(t *rapid.T) {
		got, want := new(big.Int), new(big.Int)
		for shard := range rapid.IntRange(1, 4).Draw(t, "shards") {
			a := newShardAccounts(mustRules(t, s), oneSlice{})
			d := decision{delta: &schemas.Delta{Turn: 1, Windows: s.windows(1),
				Tallies: make([]schemas.WindowTally, 1)}, reservations: drawReservations(t, want)}
			d.ended = &endedWindows{windows: d.delta.Windows,
				contributions: []*contributions{{keys: [][]byte{[]byte("a")}}}}
			a.decided = &d
			blobs := must.Have(a.partials(shard, &schemas.Open{Turn: 1}))
			partial := must.Have(schemas.DecodePartial(blobs[0].Data))
			for _, c := range partial.Cells {
				got.Add(got, big.NewInt(c.Count))
			}
		}
		if got.Cmp(want) != 0 {
			t.Fatalf("the count is %v, want %v", got, want)
		}
	})
}

func mustRules(t rapid.TB, s settings) *Rules {
	return must.Have(NewRules(s.budget, testHashKey, s.metrics, s.shards, s.releaseShards, s.slots))
}

// TestRuleWhatOneUserAddsStaysInRange: bounds that would let one user's own sum
// wrap are refused, for the further components as well.
func TestRuleWhatOneUserAddsStaysInRange(t *testing.T) {
	sum, quantiles, average, deviation := metrickind.Sum, metrickind.Quantiles, metrickind.Mean,
		metrickind.StandardDeviation
	for _, c := range []struct {
		kind     string // a kind released beside quantiles; or a sum, or quantiles
		min, max int64
		events   uint32
		fits     bool
	}{
		{sum, 0, math.MaxInt64, 1, true}, {sum, -math.MaxInt64, 0, 1, true}, {sum, -5, -1, math.MaxUint32, true},
		{sum, 0, 1 << 36, 1 << 26, true},
		{sum, 0, math.MaxInt64, 2, false}, {sum, -math.MaxInt64, 0, 2, false}, {sum, math.MinInt64, 0, 1, false},
		{sum, 0, 1 << 36, 1 << 27, false}, {sum, -1 << 36, 5, 1 << 27, false},
		{sum, 0, 1 << 36, 1 << 28, false}, {sum, -1 << 40, 0, 1 << 31, false}, // 2^64 and 2^71: 0 in 64 bits
		// every value is clamped to max: −2^64 is 0 in 64 bits
		{sum, 1 << 60, -1 << 60, 16, false}, {sum, 1, 0, 1, false},
		{average, 0, 1 << 36, 1 << 24, true}, {average, -1 << 36, 0, 1 << 24, true}, {average, -1 << 36, 1 << 36,
			1 << 25, false}, {average, 1 << 36, -1 << 36, 1, false},
		{quantiles, -1 << 36, 1 << 36, 1 << 30, true}, {quantiles, 0, 1 << 36, 1<<30 + 1, false},
		{quantiles, math.MinInt64, 0, 1, false}, {quantiles, 5, -5, 1, false},
		{deviation, 0, 1 << 30, 1, true}, {deviation, 0, 1 << 30, 2, false}, {deviation, -1 << 36, 1 << 36, 1, false},
		{deviation, 5, -5, 1, false},
	} {
		m := publicMetric("m", "a")
		m.Kind, m.Min, m.Max, m.MaxEventsPerKey = c.kind, c.min, c.max, c.events
		metrics := []schemas.MetricSpec{m}
		switch c.kind {
		case sum:
		case quantiles:
			metrics = append(metrics, extraOf(&metrics[0])...)
		default:
			metrics[0].Kind = quantiles
			metrics = append(metrics, extraOf(&metrics[0], c.kind)...)
		}
		if _, err := NewRules(budgets.Budget{Mu2: 1}, testHashKey, metrics, 1, 1, 4); (err == nil) != c.fits {
			t.Errorf("%s: %d events from %d to %d: %v", c.kind, c.events, c.min, c.max, err)
		}
	}
}

// The shards' partial counts carry how many records they saw and how many READ packed: runners
// have lost records, and repeated some. RELEASE compares the two.
func TestRuleReadAndSpendCountTheSameRecords(t *testing.T) {
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
		blobs := [][]byte{
			schemas.EncodeOpen(schemas.Open{Epoch: w.epoch, Turn: 1, Contributions: records(cs), Shards: 1,
				SettledAt: -1})}
		for _, batch := range c.bring {
			blobs = append(blobs, w.batch(w.epoch, 1, 0, batch))
		}
		pending := must.Have(w.spend(0, blobs))
		out := must.Have(pending.Wait(t.Context()))
		for _, b := range out { // one for each release shard
			p, err := schemas.DecodePartial(b.Data)
			if err != nil || p.Total != records(cs) || (p.Records == p.Total) != c.balanced {
				t.Errorf("%s: %d records of %d (%v), balanced should be %v", name, p.Records, p.Total, err, c.balanced)
			}
		}
	}
}
