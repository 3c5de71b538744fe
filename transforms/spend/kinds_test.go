package spend

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

func sumMetric(lo, hi int64, keys ...string) schemas.MetricSpec {
	m := publicMetric("s", keys...)
	m.Kind, m.Min, m.Max, m.MaxEventsPerKey = metrickind.Sum, lo, hi, 3
	return m
}

func (a *shardAccounts) in(t testing.TB, user int, period int64) accounts.Account {
	t.Helper()
	account, _ := a.store.Get(testID(user), period)
	return account
}

func mustCharge(t testing.TB, a *shardAccounts, s schemas.Settled) {
	t.Helper()
	s.Turn = a.turn
	if err := a.charge(NewSettlement(s)); err != nil {
		t.Fatal(err)
	}
}

// cellOf returns what the accounts count for a metric's key in the turn that ends now.
func cellOf(t testing.TB, a *shardAccounts, metric uint32, key string) (int64, bool) {
	t.Helper()
	blobs, err := a.partials(0, &schemas.Open{First: a.turn, Turn: a.turn, Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := schemas.DecodePartial(blobs[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Cells {
		if c.Metric == metric && string(c.Key) == key {
			return c.Count, true
		}
	}
	return 0, false
}

// TestRuleDistinctUsersAcrossAPeriodCountOnceAndPayTwice: in a window over a
// period's boundary a user is two individuals with an account each, and one
// user for a metric that counts users; if one of them cannot pay the other still counts.
func TestRuleDistinctUsersAcrossAPeriodCountOnceAndPayTwice(t *testing.T) {
	m := publicMetric("m", "a", "b")
	m.Kind = metrickind.DistinctUsers
	s := deployment(4, m)
	cs := []contribution{{user: 1, period: 0, key: "a", n: 9}, {user: 1, period: 1, key: "a", n: 1}}
	a := mustAccounts(t, s, cs)
	if n, _ := cellOf(t, a, 0, "a"); n != 1 {
		t.Fatalf("one user is counted %d times", n)
	}
	if a.in(t, 1, 0).Reserved != 4 || a.in(t, 1, 1).Reserved != 4 {
		t.Fatalf("reserved %d and %d: each part pays 1", a.in(t, 1, 0).Reserved, a.in(t, 1, 1).Reserved)
	}
	cs[0] = contribution{user: 1, period: 0, key: "a", n: 1}
	cs = append(cs, contribution{user: 1, period: 0, key: "b", n: 1}) // 4+4: period 0 pays for one of them
	a = mustAccounts(t, s, cs)
	if n, _ := cellOf(t, a, 0, "a"); n != 1 || a.in(t, 1, 0).Reserved != 4 || a.in(t, 1, 1).Reserved != 4 {
		t.Fatalf("counted %d, reserved %d and %d", n, a.in(t, 1, 0).Reserved, a.in(t, 1, 1).Reserved)
	}
}

// TestRuleSumsCostTheirClampedTotal: values are clamped one by one, what stays
// is chosen by rank, and the total's square is charged; nothing for a total of 0.
func TestRuleSumsCostTheirClampedTotal(t *testing.T) {
	s := deployment(1<<40, sumMetric(-5, 10, "a", "b"))
	a := mustAccounts(t, s, []contribution{
		{user: 1, key: "a", n: 2, value: 99}, {user: 1, key: "b", n: 1, value: -3},
		{user: 2, key: "a", n: 1, value: -1000}, {user: 3, key: "a", n: 1, value: 5}, {user: 3, key: "a", n: 1, value: -7}})
	if n, _ := cellOf(t, a, 0, "a"); n != 20-5+0 {
		t.Fatalf("the sum of a is %d, want 15", n)
	}
	if n, _ := cellOf(t, a, 0, "b"); n != -3 {
		t.Fatalf("the sum of b is %d, want -3", n)
	}
	for user, reserved := range map[int]units.Mu2{1: 4 * (400 + 9), 2: 4 * 25, 3: 0} {
		if got := a.in(t, user, 0).Reserved; got != reserved {
			t.Errorf("user %d has %d reserved, want %d", user, got, reserved)
		}
	}
	if got := a.last().delta.Tallies[0]; got != (schemas.WindowTally{Counted: 6}) {
		t.Errorf("tally %+v", got)
	}
	mustCharge(t, a, schemas.Settled{FirstRungs: []units.Precision{unit(1)}, Keys: []schemas.SettledKey{
		{WindowEnd: testTurn, Key: []byte("a"), Precision: unit(2)}, {WindowEnd: testTurn, Key: []byte("b"), Precision: unit(3)}}})
	for user, want := range map[int]accounts.Account{1: {Spent: 2*400 + 3*9}, 2: {Spent: 2 * 25}, 3: {}} {
		if got := a.in(t, user, 0); got != want {
			t.Errorf("user %d is charged %+v, want %+v", user, got, want)
		}
	}
	// A change has made the budget less than user 1 has paid.
	a.rules.Budget.Mu2 = 100
	mustDecide(t, a, s, []contribution{{user: 1, key: "a", n: 1, value: 5}, {user: 1, key: "a", n: 1, value: -5}, {user: 1, key: "b", n: 1, value: 1}})
	if got := a.last().delta.Tallies[0]; got != (schemas.WindowTally{Counted: 2, Beyond: 1}) {
		t.Errorf("of an account that is overdrawn: tally %+v", got)
	}
}

// TestAMeanIsPricedByItsDearestPrefix: of two events, whose offsets of 4 and −4 make 0, the first
// one alone costs 4 + 4² and both cost 4·2²; they are chosen as if both cost 4² more.
func TestAMeanIsPricedByItsDearestPrefix(t *testing.T) {
	mean := publicMetric("m", "a")
	mean.Kind, mean.Max = metrickind.Mean, 4
	offset := furtherOf(&mean)
	offset[0].First, offset[0].Top = unit(1), unit(1)
	for left, want := range map[units.Mu2]struct {
		counted  uint64
		reserved units.Mu2
	}{19: {0, 0}, 20: {1, 20}, 31: {1, 20}, 32: {2, 16}} {
		a := mustAccounts(t, deployment(left, mean, offset[0]), []contribution{{user: 1, key: "a", n: 1}, {user: 1, key: "a", n: 1, value: 4}})
		if tally := a.last().delta.Tallies[0]; tally.Counted != want.counted || tally.Beyond != 2-want.counted || a.of(1).Reserved != want.reserved {
			t.Errorf("of %d: %+v and %d are reserved, want %+v", left, tally, a.of(1).Reserved, want)
		}
	}
	// Of 4, 4 and −4 all three cost 4·3² + 8², but only 4·3² + 4² if −4 is the first by rank.
	for user := range 20 {
		cs := []contribution{{user: user, key: "a", n: 2, value: 4}, {user: user, key: "a", n: 1}}
		ranks, counted := [2][16]byte{}, uint64(1)
		for i := range cs {
			ranks[i] = schemas.NewHasher(testHashKey).RecordRank("m", testID(user), 0, cs[i].record())
		}
		if bytes.Compare(ranks[1][:], ranks[0][:]) < 0 {
			counted = 3
		}
		if tally := mustAccounts(t, deployment(60, mean, offset[0]), cs).last().delta.Tallies[0]; tally.Counted != counted {
			t.Errorf("user %d: %+v, want %d counted", user, tally, counted)
		}
	}
}

// TestRuleSumsKeepTheRecordsOfLeastRank, whatever else the user did and in
// whatever pieces it came.
func TestRuleSumsKeepTheRecordsOfLeastRank(t *testing.T) {
	s := deployment(1<<40, sumMetric(0, 1000, "a"))
	cs := []contribution{{user: 1, key: "a", n: 2, value: 1}, {user: 1, key: "a", n: 2, value: 10}, {user: 1, key: "a", n: 2, value: 100}}
	for user := range 20 { // whose records have other ranks
		byRank := map[string]int64{}
		for i := range cs {
			cs[i].user = user
			rank := schemas.NewHasher(testHashKey).RecordRank("s", testID(user), 0, cs[i].record())
			byRank[string(rank[:])] = cs[i].value
		}
		ranks := slices.Sorted(maps.Keys(byRank))
		want := 2*byRank[ranks[0]] + byRank[ranks[1]]
		for i := range cs { // the order of arrival turns
			a := mustAccounts(t, s, append(append([]contribution{}, cs[i:]...), cs[:i]...))
			got, _ := cellOf(t, a, 0, "a")
			if got != want || a.last().delta.Tallies[0] != (schemas.WindowTally{Counted: 3, Beyond: 3}) {
				t.Fatalf("user %d: the sum of three records is %d, want %d; tally %+v", user, got, want, a.last().delta.Tallies[0])
			}
		}
	}
}

// Of more events than a label's number can be, a sum takes the same ones in every order.
func TestASumOfMoreEventsThanANumberHoldsIsDecided(t *testing.T) {
	s := deployment(1<<40, sumMetric(0, 9, "a"))
	var sums []int64
	for _, values := range [][2]int64{{1, 2}, {2, 1}} {
		a := newShardAccounts(mustWorld(t, s).rules, oneSlice{})
		var batches []schemas.Contributions
		for _, value := range values {
			c, err := schemas.DecodeContributions(s.batch(1, 1, 0, []contribution{{user: 1, key: "a", n: 3e9, value: value}}))
			if err != nil {
				t.Fatal(err)
			}
			batches = append(batches, c)
		}
		g, records, err := gather(a.rules, new(merged), batches)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.decide(1, 1, s.windows(1), g, records); err != nil {
			t.Fatal(err)
		}
		sum, _ := cellOf(t, a, 0, "a")
		if sums = append(sums, sum); sum != sums[0] || sum%3 != 0 || a.last().delta.Tallies[0] != (schemas.WindowTally{Counted: 3, Beyond: math.MaxUint32 - 3}) {
			t.Errorf("sums %v, tally %+v", sums, a.last().delta.Tallies[0])
		}
	}
}

// TestRuleKeysTakenFromAnotherMetricCostNothingUnreleased: the metric whose keys
// they are has paid for them.
func TestRuleKeysTakenFromAnotherMetricCostNothingUnreleased(t *testing.T) {
	sum := sumMetric(0, 10)
	sum.KeyMode, sum.KeysFrom, sum.PublicKeys = schemas.KeysFrom, "m", nil
	a := mustAccounts(t, deployment(1<<40, metric1("m"), sum), []contribution{{user: 1, key: "a", n: 1, value: 3}, {user: 1, key: "b", n: 1, value: 2}})
	mustCharge(t, a, schemas.Settled{FirstRungs: []units.Precision{unit(1), unit(1)}, Keys: []schemas.SettledKey{
		{WindowEnd: testTurn, Key: []byte("a"), Precision: unit(4)}, {Metric: 1, WindowEnd: testTurn, Key: []byte("a"), Precision: unit(2)}}})
	// m: a at its top, b the first rung; the sum: a alone.
	if got := a.in(t, 1, 0).Spent; got != 4+1+9*2 {
		t.Fatalf("paid %d, want 23", got)
	}
}

// TestRuleFilteredRecordsAreNoContribution: they are tallied and cost nothing.
func TestRuleFilteredRecordsAreNoContribution(t *testing.T) {
	m := metric1("m")
	m.Filter = "x"
	other := metric1("other")
	a := mustAccounts(t, deployment(1<<40, m, other), []contribution{{user: 1, key: "a", n: 2, passes: 1}, {user: 1, key: "a", n: 3}, {user: 2, key: "b", n: 1}})
	if n, _ := cellOf(t, a, 0, "a"); n != 2 {
		t.Fatalf("counted %d of 2 that pass", n)
	}
	if _, there := cellOf(t, a, 0, "b"); there {
		t.Fatal("a key that no record of the metric has exists")
	}
	if got := a.last().delta.Tallies[0]; got != (schemas.WindowTally{Filtered: 4, Counted: 2}) {
		t.Fatalf("tally %+v", got)
	}
	if got := a.in(t, 1, 0).Reserved; got != 4*4+4*25 {
		t.Fatalf("reserved %d", got)
	}
}

// TestRuleAWindowIsAssembledFromAllItsSlices, and a slice is remembered as long as
// a window with it is open, no longer.
func TestRuleAWindowIsAssembledFromAllItsSlices(t *testing.T) {
	m := publicMetric("m", "a")
	m.WindowSize, m.WindowSlide = 3*testTurn, testTurn
	s := deployment(1<<40, m)
	a := newShardAccounts(mustWorld(t, s).rules, s)
	for turn, want := range []int64{0, 0, 3, 6, 9} { // the first two windows began before the start
		mustDecide(t, a, s, []contribution{{user: 1, key: "a", n: uint32(turn)}, {user: 1, key: "elsewhere", n: 1}})
		if n, _ := cellOf(t, a, 0, "a"); n != want {
			t.Fatalf("the window that ends with turn %d counts %d, want %d", a.turn, n, want)
		}
		if want, got := min(turn+1, 2), len(a.open); got != want {
			t.Fatalf("after turn %d %d slices are kept, want %d", a.turn, got, want)
		}
		settled := schemas.Settled{FirstRungs: []units.Precision{unit(1)}}
		if a.turn >= 3 {
			settled.Keys = []schemas.SettledKey{{WindowStart: int64(a.turn-3) * testTurn, WindowEnd: int64(a.turn) * testTurn, Key: []byte("a"), Precision: unit(1)}}
		}
		mustCharge(t, a, settled)
	}
	if got := a.in(t, 1, 0).Spent; got != 9+36+81 {
		t.Fatalf("paid %d for windows of 3, 6 and 9, want 126", got)
	}
}

// A definition of a kind that is not in the table would be counted and charged as something else.
func TestAKindThatIsNotInTheTableIsRefused(t *testing.T) {
	m := publicMetric("m", "a")
	m.Kind = "median"
	_, err := NewRules(budgets.Budget{Mu2: 1}, testHashKey, []schemas.MetricSpec{m}, 1, 1, 4)
	if err == nil || !strings.Contains(err.Error(), `"median"`) {
		t.Errorf("got %v", err)
	}
}
