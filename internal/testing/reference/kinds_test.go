package reference

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
)

func TestRuleAUserIsOneForDistinctUsers(t *testing.T) {
	m := kind(testMetric("m", "public", 100), "distinct_users")
	m.MaxKeysPerUser = 3
	c := testConfig(m)
	c.path = everythingAt(1)
	out := mustRun(t, c, onePartition(
		seen("u", "a", 1), seen("u", "a", 2), seen("u", "a", 3), seen("u", "a", 4), seen("u", "a", 5), // more than MaxEventsPerKey
		seen("u", "b", 6), seen("v", "a", 7), seen("v", "zz", 8),
	), 1)
	wantCounts(t, out, 1, 0, map[string]int64{"a": 2, "b": 1, "c": 0})
	wantSpent(t, c, out, map[string]int64{"u0": 2, "v0": 1}, nil) // 1²·1 for each key, whatever the number of events
	wantTallies(t, out, MetricTallies{Counted: 7, Filtered: 1})
}

func TestRuleEverySummedValueIsClampedBeforeTheTotal(t *testing.T) {
	m := sum(testMetric("m", "public", 100), -5, 10)
	c := testConfig(m)
	c.path = everythingAt(1)
	out := mustRun(t, c, onePartition(
		visit{user: "u", page: "a", millis: 1, amount: 100}, visit{user: "u", page: "a", millis: 2, amount: -100}, // 10 − 5, not 0
		visit{user: "v", page: "a", millis: 3, amount: -7}, // −5
		visit{user: "v", page: "b", millis: 4, amount: -2},
		visit{user: "w", page: "b", millis: 5, amount: 5}, visit{user: "w", page: "b", millis: 6, amount: -5}, // 0: costs nothing
	), 1)
	wantCounts(t, out, 1, 0, map[string]int64{"a": 0, "b": -2, "c": 0})
	wantSpent(t, c, out, map[string]int64{"u0": 25, "v0": 25 + 4, "w0": 0}, nil)
	wantTallies(t, out, MetricTallies{Counted: 6})
}

// Of each key stay the records of least rank, among equal ones as many as there is room for; what
// they are worth does not matter.
func TestRuleASumKeepsRecordsByTheirOwnBytes(t *testing.T) {
	m := sum(testMetric("m", "public", 100), 0, 100)
	m.MaxEventsPerKey = 2
	c := testConfig(m)
	c.path = everythingAt(1)
	one := visit{user: "u", page: "a", millis: 1, amount: 1}
	ten := visit{user: "u", page: "a", millis: 2, amount: 10}
	h := schemas.NewHasher(c.UserHash)
	id := h.Account([]byte("u"))
	rank := func(v visit) [16]byte { return h.RecordRank("m", id, 0, h.Record(v.record())) }
	least := func(a, b visit) visit {
		x, y := rank(a), rank(b)
		if slices.Compare(x[:], y[:]) < 0 {
			return a
		}
		return b
	}(one, ten)
	for _, k := range []struct {
		visits []visit
		want   int64
	}{
		{[]visit{one, one, one, ten}, map[int64]int64{1: 1 + 1, 10: 10 + 1}[least.amount]},
		{[]visit{ten, one, one, one}, map[int64]int64{1: 1 + 1, 10: 10 + 1}[least.amount]},
		{[]visit{one, ten, ten}, map[int64]int64{1: 1 + 10, 10: 10 + 10}[least.amount]},
		{[]visit{one, ten}, 11},
		{[]visit{ten}, 10},
	} {
		out := mustRun(t, c, onePartition(k.visits...), 1)
		wantCounts(t, out, 1, 0, map[string]int64{"a": k.want, "b": 0, "c": 0})
		wantSpent(t, c, out, map[string]int64{"u0": k.want * k.want}, nil)
		wantTallies(t, out, MetricTallies{Counted: uint64(min(2, len(k.visits))), ClippedEvents: uint64(max(0, len(k.visits)-2))})
	}
}

func TestFiltersTakeWhatPassesThem(t *testing.T) {
	all, some := testMetric("all", "public", 100), testMetric("some", "public", 100)
	some.Filter = tagged
	c := testConfig(all, some)
	c.path = everythingAt(1)
	out := mustRun(t, c, onePartition(
		visit{user: "u", page: "a", millis: 1, tag: "x"}, visit{user: "u", page: "a", millis: 2, tag: "y"},
		visit{user: "v", page: "b", millis: 3}, visit{user: "v", page: "zz", millis: 4, tag: "x"},
	), 1)
	wantCounts(t, out, 1, 0, map[string]int64{"a": 2, "b": 1, "c": 0})
	wantCounts(t, out, 1, 1, map[string]int64{"a": 1, "b": 0, "c": 0})
	wantTallies(t, out, MetricTallies{Counted: 3, Filtered: 1}, MetricTallies{Counted: 1, Filtered: 3})
	wantSpent(t, c, out, map[string]int64{"u0": 4 + 1, "v0": 1}, nil)
}

// S8: a sum has the keys that its base released, at zero, too; the other keys are not drawn and
// cost nothing, while they cost the base's contributors the first rung.
func TestRuleASumTakesTheReleasedKeysOfACount(t *testing.T) {
	base := kind(testMetric("n", "private", 100), "events")
	s := from(sum(testMetric("s", "public", 100), 0, 10), "n")
	s.Filter = tagged
	c := testConfig(s, base) // the base may stand after it
	c.path = script(map[string]outcome{"a": {1, true}, "b": {1, true}, "c": {1, false}})
	out := mustRun(t, c, onePartition(
		visit{user: "u", page: "a", millis: 1, amount: 4, tag: "x"}, visit{user: "u", page: "c", millis: 2, amount: 3, tag: "x"},
		visit{user: "v", page: "b", millis: 3, amount: 5}, // counted by the base, not taken by the sum
	), 1)
	wantCounts(t, out, 1, 1, map[string]int64{"a": 1, "b": 1, "c": 1})
	wantCounts(t, out, 1, 0, map[string]int64{"a": 4, "b": 0})
	wantSpent(t, c, out, map[string]int64{"u0": 1 + 1 + 16, "v0": 1}, map[string]int64{"u0": 2, "v0": 1})
	wantTallies(t, out, MetricTallies{Counted: 2, Filtered: 1}, MetricTallies{Counted: 3})
	if n := len(out.Published); n != 4 {
		t.Errorf("%d values were published, want a and b of each metric", n)
	}
}

// A sum of own keys would rank keys under its own name and keep others than the count that its keys
// come from.
func TestAMetricKeepsTheSameKeysAsTheOneItTakesThemFrom(t *testing.T) {
	base := kind(testMetric("n", "private", 100), "events")
	s := from(kind(testMetric("s", "public", 100), "events"), "n")
	own := kind(testMetric("own", "private", 100), "events")
	c := testConfig(base, s, own)
	for i := range c.Metrics {
		c.Metrics[i].MaxKeysPerUser = 1
	}
	c.path = everythingAt(1)
	differ := 0
	for _, user := range []string{"u", "v", "w", "x", "y", "z"} {
		out := mustRun(t, c, onePartition(seen(user, "a", 1), seen(user, "b", 2), seen(user, "c", 3), seen(user, "d", 4)), 1)
		n, taken, others := countsOf(out, 1, 0), countsOf(out, 1, 1), countsOf(out, 1, 2)
		for key := range n {
			if taken[key] != 1 {
				t.Errorf("%s: the base keeps %v, the metric that takes its keys %v", user, n, taken)
			}
			if others[key] != 1 {
				differ++
			}
		}
	}
	if differ == 0 {
		t.Error("a metric of its own keeps the same keys of six users: ranks do not depend on the metric")
	}
}

func TestRuleClippingDependsOnOwnRecordsOnly(t *testing.T) {
	for _, of := range []string{"events", "distinct_users", "sum"} {
		m := kind(testMetric("m", "public", 100), of)
		m.Min, m.Max, m.MaxEventsPerKey = -3, 8, 2
		h := schemas.NewHasher([32]byte{1})
		rapid.Check(t, func(t *rapid.T) {
			visits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Visit {
				v := Visit{rapid.StringMatching("[a-e]").Draw(t, "key"), rapid.Int64Range(-9, 9).Draw(t, "value"), schemas.RecordID{}}
				v.Record = h.Record([]byte{v.Key[0], byte(v.Value)})
				return v
			}), 1, 20).Draw(t, "visits")
			owner := Owner{Period: rapid.Int64Range(0, 3).Draw(t, "period")}
			one := Contribute(h, m, components(m.Kind), owner, visits)
			two := Contribute(h, m, components(m.Kind), owner, rapid.Permutation(visits).Draw(t, "order"))
			if !sameContribution(one, two) {
				t.Fatalf("%s: in one order %+v, in another %+v", of, one, two)
			}
			if one.Kept+one.ClippedKeys+one.ClippedEvents != uint64(len(visits)) || len(one.Counts) > 2 || len(one.Counts) == 0 {
				t.Fatalf("%s: %d records come to %+v", of, len(visits), one)
			}
			for _, n := range one.Counts {
				if big.NewInt(n).CmpAbs(greatestTotal(m)) > 0 {
					t.Fatalf("%s: a contribution of %d is beyond %v", of, n, greatestTotal(m))
				}
			}
		})
	}
}

func sameContribution(a, b Contribution) bool {
	if len(a.Counts) != len(b.Counts) || a.Kept != b.Kept || a.ClippedKeys != b.ClippedKeys || a.ClippedEvents != b.ClippedEvents {
		return false
	}
	for key, n := range a.Counts {
		if m, there := b.Counts[key]; !there || m != n {
			return false
		}
	}
	return true
}
