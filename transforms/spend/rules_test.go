package spend

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// unit returns a precision that costs one account unit for one event.
func unit(n uint64) units.Precision { return units.Precision{Hi: n >> 24, Lo: n << 40} }

// metric1 has private keys, first rung 1 unit, top 4, and ample bounds.
func metric1(name string) schemas.MetricSpec {
	return schemas.MetricSpec{Name: name, Kind: "events", KeyMode: "private", MaxKeysPerUser: 10, MaxEventsPerKey: 10,
		First: unit(1), Top: unit(4)}
}

func publicMetric(name string, keys ...string) schemas.MetricSpec {
	m := metric1(name)
	m.KeyMode = schemas.KeysPublic
	for _, k := range keys {
		m.PublicKeys = append(m.PublicKeys, []byte(k))
	}
	return m
}

func deployment(mu units.Mu2, metrics ...schemas.MetricSpec) settings {
	return settings{shards: 1, releaseShards: 1, slots: 4, metrics: metrics, budget: budgets.Budget{Mu2: mu}}
}

// mustAccounts decides turn 1 of one shard and returns its accounts.
func mustAccounts(t testing.TB, s settings, cs []contribution) *shardAccounts {
	t.Helper()
	w := mustWorld(t, s)
	a := newShardAccounts(w.rules, oneSlice{})
	mustDecide(t, a, s, cs)
	return a
}

func mustDecide(t testing.TB, a *shardAccounts, s settings, cs []contribution) {
	t.Helper()
	c := must.Have(schemas.DecodeContributions(new(schemas.UserMemory), s.batch(1, a.turn+1, 0, cs)))
	g, records, err := mergeBatches(a.rules, new(merged), []schemas.Contributions{c})
	if err != nil {
		t.Fatal(err)
	}
	must.Have(a.decide(a.turn+1, s.windows(a.turn+1), g, records))
}

func (a *shardAccounts) accountOf(user int) accounts.Account {
	_, account := a.store.Find(testID(user), 0)
	return account
}

// released makes a settlement of turn 1 with these precisions of metric 0.
func released(first units.Precision, keys map[string]units.Precision) *Settlement {
	s := schemas.Settled{Turn: 1, FirstRungs: []units.Precision{first}}
	for k, u := range keys {
		s.Keys = append(s.Keys, schemas.SettledKey{WindowEnd: 1000, Key: []byte(k), Precision: u})
	}
	return NewSettlement(s)
}

// TestRuleAdmissionDependsOnOwnRecordsOnly: with the public record given,
// taking a user away changes neither what the others are admitted to nor what
// they pay, over many turns and out of budget.
func TestRuleAdmissionDependsOnOwnRecordsOnly(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		if rapid.Bool().Draw(t, "windows of one turn") {
			s = drawTurnSettings(t)
		}
		s.budget.Mu2 = rapid.SampledFrom([]units.Mu2{s.budget.Mu2, 1 << 10, 1 << 14}).Draw(t, "B²")
		with := must.Have(newWorld(s, 3))
		without := must.Have(newWorld(s, 4))
		gone := rapid.IntRange(0, 5).Draw(t, "the user who is taken away")
		for turn := uint64(1); turn <= 6; turn++ {
			// The user who is taken away has a key that no other user has.
			cs := append(drawMany(t), contribution{user: gone, key: "!", n: 1})
			others := slices.DeleteFunc(slices.Clone(cs), func(c contribution) bool { return c.user == gone })
			partials := must.Have(with.play(turn, cs, nil))
			must.Have(without.play(turn, others, nil))
			a, b := decisionsOn(t, with, turn, gone), decisionsOn(t, without, turn, gone)
			if !slices.Equal(a, b) {
				t.Fatalf("turn %d: with the user the others are decided %s, without %s", turn, a, b)
			}
			compared += len(a)
			without.settlements.settle(with.settle(turn, partials))
		}
	})
	if compared == 0 { // by chance: never, each case draws 30 records of 8 users and more
		t.Error("nothing was decided for others: the test shows nothing")
	}
	// To the unit: 4 units are enough for user 0 and 3 are not, however many others there are.
	cs := []contribution{{user: 0, key: "a", n: 1}}
	for range 4 {
		for budget, want := range map[units.Mu2]units.Mu2{3: 0, 4: 4} {
			if got := mustAccounts(t, deployment(budget, metric1("m")), cs).accountOf(0).Reserved; got != want {
				t.Errorf("beside %d others, of a budget of %d units %d are reserved, want %d", len(cs)-1, budget, got,
					want)
			}
		}
		cs = append(cs, contribution{user: len(cs), key: "b", n: 1})
	}
}

// decisionsOn returns what a turn decided for every user but one, by the ledger, with their
// accounts.
func decisionsOn(t *rapid.T, w *world, turn uint64, but int) []string {
	t.Helper()
	var lines []string
	for shard := range w.shards {
		d := decidedDelta(t, w, shard, turn)
		for _, u := range d.Users {
			line := fmt.Sprintf("%x %d %v", u.ID, u.Period, u.Admitted)
			for _, e := range u.Entries {
				line += fmt.Sprintf(" %q:%d", d.Labels[e.Key].Key, e.N)
			}
			if u.ID != testID(but) {
				lines = append(lines, line)
			}
		}
	}
	for who, a := range w.accounts() {
		if who.id != testID(but) {
			lines = append(lines, fmt.Sprintf("%x %d %+v", who.id, who.period, a))
		}
	}
	slices.Sort(lines)
	return lines
}

// decidedDelta returns a turn's delta from the ledger: the engine forgets its users.
func decidedDelta(t *rapid.T, w *world, shard int, turn uint64) schemas.Delta {
	t.Helper()
	r := must.Have(w.ledger.reader(shard))
	after, err := r.DeltasAfter(turn - 1)
	d, ok := after[turn]
	if err != nil || !ok {
		t.Fatalf("shard %d: the ledger has no delta of turn %d (%v)", shard, turn, err)
	}
	return d
}

// TestRuleOneRecordMovesCountsByOne: taking away one event of one user, who is far above every
// bound and within the allowance, moves each metric's counts by at most one, in one key; a sum by
// at most what one value can be.
func TestRuleOneRecordMovesCountsByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawTurnSettings(t)
		s.budget = budgets.Budget{Mu2: 1 << 60}
		for i := range s.metrics {
			s.metrics[i].Burst = 0
		}
		cs := drawMany(t)
		before := newModelled(t, s, cs)
		for which := range 4 { // they are drawn at random: any four will do
			fewer := slices.Clone(cs)
			fewer[which].n--
			gone := fewer[which].n == 0
			if gone {
				fewer = slices.Delete(fewer, which, which+1)
			}
			after := newModelled(t, s, fewer)
			for i := range s.metrics {
				m := &s.metrics[i]
				if m.Kind == metrickind.Sum && m.Min == m.Max {
					continue // a sum of any values
				}
				limit := int64(1)
				switch m.Kind {
				case metrickind.Sum:
					limit = m.Max - m.Min
				case "mean_offset": // another event may take the place of one
					limit = 2 * (m.Max - m.Min)
				case "mean_square":
					limit = 2 * (m.Max - m.Min) * (m.Max - m.Min)
				}
				// A key that is gone lets another, clipped one in: own records decide.
				if gone {
					limit *= 1 + cmp.Or(int64(m.MaxEventsPerKey), 7*60) // 60 draws of 7 events
				}
				if moved := distance(before, after, uint32(i)); moved > limit {
					t.Fatalf("one event moved the counts of metric %d, %s, by %d", i, m.Kind, moved)
				}
			}
		}
	})
}

// distance adds up by how much the counts of a metric's first window differ.
func distance(a, b map[cell]int64, metric uint32) (sum int64) {
	for _, key := range testKeys {
		counted := cell{metric, 0, testTurn, key}
		sum += max(a[counted]-b[counted], b[counted]-a[counted])
	}
	return sum
}

func newModelled(t *rapid.T, s settings, cs []contribution) map[cell]int64 {
	w := must.Have(newWorld(s, 5))
	partials := must.Have(w.play(1, cs, nil))
	counts := map[cell]int64{}
	for _, p := range partials {
		for _, c := range p.Cells {
			counts[cell{c.Metric, c.WindowStart, c.WindowEnd, string(c.Key)}] += c.Count
		}
	}
	return counts
}

// TestRuleAdmissionReservesTheWholeWorstCase: a second window of the turn must fit beside the first
// one's worst case, though little of that will be charged.
func TestRuleAdmissionReservesTheWholeWorstCase(t *testing.T) {
	s := deployment(4*100+4*100-1, metric1("m0"), metric1("m1"))
	cs := []contribution{{user: 1, key: "a", n: 6}, {user: 1, key: "b", n: 8}} // 36 and 64 times the top
	a := mustAccounts(t, s, cs)
	if got := a.accountOf(1).Reserved; got != 400+4*(36+49) {
		t.Fatalf("%d are reserved: all of the first window, and all but one event of the second", got)
	}
	s.budget.Mu2++
	a = mustAccounts(t, s, cs)
	if got := a.accountOf(1).Reserved; got != 800 {
		t.Fatal("the worst case fits to the unit and was refused")
	}
}

// TestRuleWhatCannotBePaidIsLeftOutAndTheWalkGoesOn: of a window, as much counts as can be paid; if
// that is nothing, it costs nothing, and a cheaper window after it is still admitted. The first of
// two windows is admitted where the budget is for one.
func TestRuleWhatCannotBePaidIsLeftOutAndTheWalkGoesOn(t *testing.T) {
	dear := metric1("dear")
	dear.Top = unit(100)
	s := deployment(150, dear, metric1("cheap"), dear, metric1("cheap again"))
	s.metrics[2].Name = "dear again"
	a := mustAccounts(t, s, []contribution{{user: 1, key: "a", n: 1}, {user: 1, key: "b", n: 1}})
	if got, want := fmt.Sprintf("%04b", a.decided.delta.Users[0].Admitted[0]), "1011"; got != want {
		t.Fatalf("admitted to %s, want %s (last window first)", got, want)
	}
	if got, want := a.accountOf(1), (accounts.Account{Reserved: 116}); got != want {
		t.Fatalf("account is %+v, want %+v", got, want)
	}
	if got := a.decided.delta.Tallies; got[0] != (schemas.WindowTally{Counted: 1, Beyond: 1}) ||
		got[2] != (schemas.WindowTally{Beyond: 2}) {
		t.Fatalf("tallies of the dear windows are %+v", got)
	}
	s.budget.Mu2 = 8
	a = mustAccounts(t, s, []contribution{{user: 1, key: "a", n: 1}, {user: 1, key: "b", n: 1}})
	if got, want := fmt.Sprintf("%04b", a.decided.delta.Users[0].Admitted[0]), "0010"; got != want {
		t.Fatalf("with a budget for one window admitted to %s, want %s (last window first)", got, want)
	}
}

// TestRulePublicKeyMissingFromASettlementStops, while a private one costs the first rung; a price
// above the top and a price of nothing stop, too.
func TestRulePublicKeyMissingFromASettlementStops(t *testing.T) {
	cs := []contribution{{user: 1, key: "a", n: 2}}
	for name, c := range map[string]struct {
		metric schemas.MetricSpec
		keys   map[string]units.Precision
		paid   units.Mu2 // 0: stops
	}{
		"public, missing":    {publicMetric("m", "a"), nil, 0},
		"public, at no cost": {publicMetric("m", "a"), map[string]units.Precision{"a": {}}, 0},
		"public":             {publicMetric("m", "a"), map[string]units.Precision{"a": unit(2)}, 8},
		"private, missing":   {metric1("m"), nil, 4},
		"private":            {metric1("m"), map[string]units.Precision{"a": unit(3)}, 12},
		"private, no cost":   {metric1("m"), map[string]units.Precision{"a": {}}, 0},
		"above the top":      {metric1("m"), map[string]units.Precision{"a": {Lo: 4<<40 + 1}}, 0},
	} {
		a := mustAccounts(t, deployment(1<<40, c.metric), cs)
		err := a.charge(released(unit(1), c.keys))
		if c.paid == 0 {
			if err == nil {
				t.Errorf("%s: charged %d", name, a.accountOf(1).Spent)
			}
		} else if err != nil || a.accountOf(1).Spent != c.paid {
			t.Errorf("%s: charged %d, want %d (%v)", name, a.accountOf(1).Spent, c.paid, err)
		}
	}
}

// TestRuleAReleasedValuePaysForAllComponents: the further ones are in a settlement exactly where
// the first one is; anything else stops, and no user pays for less than was drawn.
func TestRuleAReleasedValuePaysForAllComponents(t *testing.T) {
	m := metric1("m")
	m.Kind, m.Min, m.Max = metrickind.Variance, 0, 3
	metrics := append([]schemas.MetricSpec{m}, extraOf(&m)...)
	var keys []schemas.SettledKey
	for i := range metrics {
		keys = append(keys, schemas.SettledKey{Metric: uint32(i), WindowEnd: 1000, Key: []byte("a"),
			Precision: unit(1)})
	}
	for name, c := range map[string]struct {
		keys []schemas.SettledKey
		paid units.Mu2 // 0: stops
	}{
		"all":                {keys, 1 + 3*3 + 9*9}, // one event of value 3: N by 1, S by 3, Q by 9
		"the first alone":    {keys[:1], 0},
		"without the third":  {keys[:2], 0},
		"without the second": {[]schemas.SettledKey{keys[0], keys[2]}, 0},
		"without the first":  {keys[1:], 0},
		"below a threshold":  {nil, 1},
	} {
		a := mustAccounts(t, deployment(1<<40, metrics...), []contribution{{user: 1, key: "a", n: 1, value: 3}})
		err := a.charge(NewSettlement(schemas.Settled{Turn: 1, FirstRungs: []units.Precision{unit(1), unit(1),
			unit(1)}, Keys: c.keys}))
		if c.paid == 0 && !errors.Is(err, errNoPrice) || c.paid != 0 && (err != nil || a.accountOf(1).Spent != c.paid) {
			t.Errorf("%s: charged %d, want %d (%v)", name, a.accountOf(1).Spent, c.paid, err)
		}
	}
}

// TestRuleAReleasedTreePaysForItsDrawnNodes: a settlement names drawn nodes of exactly those keys
// that were released, the root of each among them; anything else stops, and a user pays for the
// squares of the events in the children of those nodes, and for no other.
func TestRuleAReleasedTreePaysForItsDrawnNodes(t *testing.T) {
	m := metric1("m")
	m.Kind, m.Min, m.Max, m.MaxEventsPerKey = metrickind.Quantiles, 0, 63, 3 // two levels
	metrics := append([]schemas.MetricSpec{m}, extraOf(&m)...)
	first := schemas.SettledKey{WindowEnd: 1000, Key: []byte("a"), Precision: unit(1)}
	node := func(n metrickind.Node, u uint64) schemas.SettledKey {
		return schemas.SettledKey{Metric: 1, WindowEnd: 1000, Key: schemas.NodeKey([]byte("a"), n), Precision: unit(u)}
	}
	for name, c := range map[string]struct {
		keys []schemas.SettledKey
		paid units.Mu2 // 0: stops
	}{
		// Two of three events have values in the first eighth, one of them beside the other, and
		// the third is in the last eighth: 3² for N, 2² + 1 for the first level.
		"root":                   {[]schemas.SettledKey{first, node(1, 4)}, 9 + 4*(4+1)},
		"root and first child":   {[]schemas.SettledKey{first, node(1, 4), node(8, 4)}, 9 + 4*(4+1) + 4*(1+1)},
		"root and a child of no": {[]schemas.SettledKey{first, node(1, 4), node(10, 4)}, 9 + 4*(4+1)},
		"all": {[]schemas.SettledKey{first, node(1, 4), node(8, 4), node(15, 4)},
			9 + 4*(4+1) + 4*(1+1+1)},
		"no root":              {[]schemas.SettledKey{first, node(8, 4)}, 0},
		"no node":              {[]schemas.SettledKey{first}, 0},
		"a node of no release": {[]schemas.SettledKey{node(1, 4)}, 0},
		"two precisions":       {[]schemas.SettledKey{first, node(1, 4), node(8, 3)}, 0},
		"twice":                {[]schemas.SettledKey{first, node(1, 4), node(1, 4)}, 0},
		"a key that is no node's": {
			[]schemas.SettledKey{first, {Metric: 1, WindowEnd: 1000, Key: []byte("a"), Precision: unit(4)}}, 0},
		"below a threshold": {nil, 9},
	} {
		a := mustAccounts(t, deployment(1<<40, metrics...), []contribution{{user: 1, key: "a", n: 1, value: 3},
			{user: 1, key: "a", n: 1, value: 4}, {user: 1, key: "a", n: 1, value: 60}})
		err := a.charge(
			NewSettlement(schemas.Settled{Turn: 1, FirstRungs: []units.Precision{unit(1), unit(4)}, Keys: c.keys}))
		if c.paid == 0 && !errors.Is(err, errNoPrice) || c.paid != 0 && (err != nil || a.accountOf(1).Spent != c.paid) {
			t.Errorf("%s: charged %d, want %d (%v)", name, a.accountOf(1).Spent, c.paid, err)
		}
	}
}
