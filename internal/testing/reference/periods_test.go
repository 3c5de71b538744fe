package reference

import (
	"math/big"
	"testing"
)

// A window over a boundary: [0, 150) with periods of 100.
func straddling() Config {
	m := kind(testMetric("m", "public", 150), "events")
	m.MaxEventsPerKey = 2
	c := inPeriods(testConfig(m), 100, "100ms")
	c.path = everythingAt(1)
	return c
}

func TestRuleAWindowAcrossABoundarySeesTwoIndividuals(t *testing.T) {
	c := straddling()
	out := mustRun(t, c, onePartition(
		seen("u", "a", 10), seen("u", "a", 20), seen("u", "a", 99), // period 0: 2 of 3
		seen("u", "a", 100), // period 1
		seen("v", "a", 149),
	), 1)
	wantCounts(t, out, 1, 0, map[string]int64{"a": 2 + 1 + 1, "b": 0, "c": 0})
	wantSpent(t, c, out, map[string]int64{"u0": 4, "u1": 1, "v1": 1}, nil) // not (2+1)² = 9 from one of them
	wantTallies(t, out, MetricTallies{Counted: 4, ClippedEvents: 1})
}

// To an attacker who removes all of a user, the parts are one: the window moves by their sum, and
// what they paid is up to as many times too little as there are of them.
func TestRuleAWindowOverTwoPeriodsLosesUpToTwiceWhatWasPaid(t *testing.T) {
	c := straddling()
	others := []visit{seen("v", "a", 149)}
	for at, own := range map[int64][]visit{
		9:  {seen("u", "a", 10), seen("u", "a", 20), seen("u", "a", 100)},                      // 2 and 1
		16: {seen("u", "a", 10), seen("u", "a", 20), seen("u", "a", 100), seen("u", "a", 110)}, // 2 and 2
		4:  {seen("u", "a", 10), seen("u", "a", 20)},
	} {
		with, without := mustRun(t, c, onePartition(append(own, others...)...), 1), mustRun(t, c, onePartition(others...), 1)
		moved, paid := int64(0), new(big.Int)
		for i, d := range with.Draws {
			moved += (d.Count - without.Draws[i].Count) * (d.Count - without.Draws[i].Count)
		}
		for owner, a := range with.Accounts {
			if owner.ID == c.owner("u", 0).ID {
				paid.Add(paid, a.Spent)
			}
		}
		if moved != at || 2*paid.Int64() < moved {
			t.Errorf("%v: the window moves by the root of %d, want %d; both periods paid %d", own, moved, at, paid)
		}
	}
}

// Each part is admitted by its own budget: one that is spent leaves the other one in.
func TestRuleAPeriodWithoutBudgetLeavesTheOtherIn(t *testing.T) {
	c := straddling()
	early := kind(testMetric("early", "public", 50), "events")
	early.Period = "100ms"
	c.Metrics = append(c.Metrics, early)
	c.Budget.Mu2 = big.NewInt(4)
	out := mustRun(t, c, onePartition(
		seen("u", "a", 10),                      // 1 unit in [0, 50)
		seen("u", "b", 60), seen("u", "b", 110), // [0, 150) then: 1 + 1 in period 0, 1 in period 1
		seen("v", "a", 10), seen("v", "a", 20), seen("v", "a", 120), // 4 units in [0, 50): no room for 4 more in period 0
	), 3)
	wantCounts(t, out, 1, 1, map[string]int64{"a": 3, "b": 0, "c": 0})
	wantCounts(t, out, 3, 0, map[string]int64{"a": 1 + 1, "b": 2, "c": 0})
	// Of [50, 100) u paid 1 in period 0; [100, 150) ends with the long window, and stands after it
	// in the configuration.
	wantSpent(t, c, out, map[string]int64{"u0": 1 + 1 + 2, "u1": 1 + 1, "v0": 4, "v1": 1 + 1}, nil)
	wantTallies(t, out, MetricTallies{Counted: 4, OverBudget: 2}, MetricTallies{Counted: 6})
}

// For distinct users and coverage a user who is in with either part is one, and each part that is
// in pays for it.
func TestRuleAUserIsOneInBothPeriodsAndEachPays(t *testing.T) {
	m := kind(testMetric("m", "public", 150), "distinct_users")
	c := inPeriods(testConfig(m, coverage(m)), 100, "100ms")
	c.path = everythingAt(1)
	for _, k := range []struct {
		name   string
		visits []visit
		budget int64
		users  int64 // of key a
		cover  int64
		spent  map[string]int64
	}{
		{"both parts are in", []visit{seen("u", "a", 1), seen("u", "a", 101), seen("v", "a", 102)}, 100, 2, 2,
			map[string]int64{"u0": 2, "u1": 2, "v1": 2}},
		{"one part has too many keys", []visit{seen("u", "a", 1), seen("u", "b", 2), seen("u", "a", 101)}, 2, 1, 1,
			map[string]int64{"u1": 2}},
		{"both parts have other keys", []visit{seen("u", "b", 1), seen("u", "a", 101)}, 2, 1, 1,
			map[string]int64{"u0": 2, "u1": 2}},
		{"no part is in", []visit{seen("u", "a", 1), seen("u", "a", 101)}, 1, 0, 0, nil},
	} {
		c.Budget.Mu2 = big.NewInt(k.budget)
		out := mustRun(t, c, onePartition(k.visits...), 1)
		if got := countsOf(out, 1, 0)["a"]; got != k.users {
			t.Errorf("%s: %d users of a, want %d", k.name, got, k.users)
		}
		if got := countsOf(out, 1, 1)[""]; got != k.cover {
			t.Errorf("%s: coverage is %d, want %d", k.name, got, k.cover)
		}
		wantSpent(t, c, out, k.spent, nil)
	}
}

// δ belongs to the period, like everything else.
func TestRuleEachPeriodPaysTheDeltaOfItsOwnKeys(t *testing.T) {
	m := kind(testMetric("m", "private", 150), "events")
	c := inPeriods(testConfig(m), 100, "100ms")
	c.path = script(nil) // nothing passes its threshold
	c.Budget.Keys = new(big.Int).Lsh(big.NewInt(1), 50)
	out := mustRun(t, c, onePartition(
		seen("u", "a", 1), seen("u", "b", 2), // two keys: one too many
		seen("u", "a", 101),
		seen("v", "c", 103),
	), 1)
	wantCounts(t, out, 1, 0, map[string]int64{"a": 1, "c": 1}) // no admitted user has b
	wantSpent(t, c, out, map[string]int64{"u1": 1, "v1": 1}, map[string]int64{"u1": 1, "v1": 1})
	if len(out.Published) != 0 {
		t.Errorf("%d values were published", len(out.Published))
	}
}

// A window longer than a period has a part for every period in it.
func TestAWindowOfSeveralPeriods(t *testing.T) {
	m := kind(testMetric("m", "public", 300), "events")
	c := inPeriods(testConfig(m), 100, "100ms")
	c.path = everythingAt(1)
	out := mustRun(t, c, onePartition(seen("u", "a", 1), seen("u", "a", 101), seen("u", "a", 102), seen("u", "a", 299)), 1)
	wantCounts(t, out, 1, 0, map[string]int64{"a": 4, "b": 0, "c": 0})
	wantSpent(t, c, out, map[string]int64{"u0": 1, "u1": 4, "u2": 1}, nil)
}

// Clipping does not choose across periods, and chooses anew in each.
func TestRuleClippingChoosesWithinAPeriod(t *testing.T) {
	m := kind(testMetric("m", "public", 200), "events")
	m.MaxKeysPerUser = 1
	c := inPeriods(testConfig(m), 100, "100ms")
	c.path = everythingAt(1)
	differ := 0
	for _, user := range []string{"u", "v", "w", "x", "y", "z", "s", "t"} {
		var visits []visit
		for i, page := range []string{"a", "b", "c"} {
			visits = append(visits, seen(user, page, int64(i)), seen(user, page, int64(100+i)))
		}
		out := mustRun(t, c, onePartition(visits...), 1)
		total := int64(0)
		for _, n := range countsOf(out, 1, 0) {
			total += n
			if n == 1 {
				differ++
			}
		}
		if total != 2 {
			t.Errorf("%s keeps %d keys in two periods, want one in each", user, total)
		}
	}
	if differ == 0 {
		t.Error("eight users keep the same key in both periods: ranks do not depend on the period")
	}
}
