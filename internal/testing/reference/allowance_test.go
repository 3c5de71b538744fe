package reference

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

// TestFillingByHand has prices of c² at the top, and cases that were computed on paper.
func TestFillingByHand(t *testing.T) {
	events := kind(testMetric("events", "public", 40), "events")
	total := sum(testMetric("sum", "public", 40), 0, 0)
	scatter := kind(sum(testMetric("scatter", "public", 40), 0, 4), "mean")
	scatter.Top = costing(4) // offsets, 2·value − 4 each, cost their square
	metrics := append([]schemas.MetricSpec{events, total, scatter}, further(scatter)...)
	metrics[3].Top = costing(1)
	c := testConfig(metrics...)
	keys := func(totals ...int64) (o Offer) {
		for i, n := range totals {
			o.Keys = append(o.Keys, OfferedKey{Key: string(rune('a' + i)), Total: big.NewInt(n), Records: uint64(max(n, -n))})
		}
		return o
	}
	values := Offer{Keys: []OfferedKey{{Key: "a", Total: big.NewInt(3), Records: 3, Values: []int64{4, 0, 4}}}}
	for _, k := range []struct {
		metric    int
		offer     Offer
		available int64
		want      string
		price     int64
	}{
		{0, keys(7, 3, 1), 59, "a=7 b=3 c=1: 11 and 0", 59},
		{0, keys(7, 3, 1), 58, "a=6 b=3 c=1: 10 and 1", 46}, // a seventh costs 13
		{0, keys(2, 4, 4), 29, "a=2 b=4 c=3: 9 and 1", 29},
		{0, keys(1, 1, 1), 2, "a=1 b=1: 2 and 1", 2},
		{0, keys(2, 2), 0, ": 0 and 4", 0},
		{0, keys(2, 2), -1, ": 0 and 4", 0},
		{1, keys(-7, 2), 20, "a=-4 b=2: 6 and 3", 20},
		{1, Offer{Keys: []OfferedKey{{Key: "a", Total: big.NewInt(-7), Records: 3}}}, 26, "a=-5: 2 and 1", 25},
		{1, Offer{Keys: []OfferedKey{{Key: "a", Total: new(big.Int), Records: 2}}}, -1, "a=0: 2 and 0", 0},
		// After the second record the offset is 0 again, but the first one alone costs 4 + 16.
		{2, values, 19, ": 0 and 3", 0},
		{2, values, 31, "a=1: 1 and 2", 20},
		{2, values, 32, "a=2: 2 and 1", 16},
		{2, values, 52, "a=3: 3 and 0", 52},
	} {
		b := c.Fill(k.metric, k.offer, big.NewInt(k.available))
		got := ""
		for _, key := range slices.Sorted(maps.Keys(b.Counts)) {
			if got != "" {
				got += " "
			}
			got += fmt.Sprintf("%s=%d", key, b.Counts[key])
		}
		got += fmt.Sprintf(": %d and %d", b.Counted, b.Beyond)
		if price := c.Price(k.metric, b, c.Top); got != k.want || price.Int64() != k.price || b.Admitted != (b.Counted > 0) {
			t.Errorf("%v of %+v: %s for %v, want %s for %d", k.available, k.offer.Keys, got, price, k.want, k.price)
		}
	}
}

// TestBucketByHand: a bucket of 100 is refilled with 80 in 400 ms; a contribution c costs 2c², but
// c² in the second window, where counts stop at half the precision.
func TestBucketByHand(t *testing.T) {
	m := kind(testMetric("m", "public", 40), "events")
	m.Top, m.MaxEventsPerKey, m.MaxKeysPerUser = costing(2), 0, 0
	m.Burst, m.Refill, m.Horizon = 100, 80, 400
	c, err := Compile(testConfig(m))
	if err != nil {
		t.Fatal(err)
	}
	c.path = func(_ int, w window, _ string) stop {
		if w.end == 80 {
			return stop{precision: costing(1).Big(), passed: true, rungs: 1}
		}
		return stop{precision: costing(2).Big(), passed: true, rungs: 1}
	}
	var visits []visit
	there := func(millis int64, counts ...int) {
		for i, n := range counts {
			visits = append(visits, slices.Repeat([]visit{{user: "u", page: string(rune('a' + i)), millis: millis}}, n)...)
		}
	}
	there(0, 7, 3, 1)  // 118 of 100: 6, 3 and 1 cost 92
	there(40, 5, 5)    // 8 + 8: 2 and 2, and half of their price comes back
	there(80, 2, 2, 2) // 8 + 8: one of the three gets a second one, for 12
	there(440, 4, 4)   // 4 + 72: all of them for 64
	out := mustRun(t, c, onePartition(visits...), 12)
	if got := out.Tallies.Metrics[0]; got != (MetricTallies{Counted: 10 + 4 + 4 + 8, Beyond: 1 + 6 + 2}) {
		t.Errorf("tallies are %+v", got)
	}
	account := out.Accounts[c.owner("u", 0)]
	if left := account.BucketAt(c.Metrics[0], 480).Balance; account.Spent.Int64() != 92+8+12+64 || left.Int64() != 12 {
		t.Errorf("%v are spent and %v left, want 176 and 12", account.Spent, left)
	}
}
