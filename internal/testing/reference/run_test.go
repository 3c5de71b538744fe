package reference

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// tagged is the filter of the tests.
const tagged = `tag == "x"`

// testConfig returns a deployment whose budget never ends.
func testConfig(metrics ...schemas.MetricSpec) Config {
	return Config{
		Incarnation: [16]byte{1},
		Counts:      schemas.CountsEncoding{Format: schemas.CountsJSON},
		Format: event.Format{
			Format: "jsonl", User: "user", Key: "page", Time: "ts", TimeUnit: "ms", Value: "amount", Filters: []string{tagged},
		},
		UserHash: [32]byte{2},
		Noise:    noisereduction.NoiseKey{ID: "k", Secret: secret.New([32]byte{3})},
		Budget:   Budget{Mu2: new(big.Int).Lsh(big.NewInt(1), 60), Keys: new(big.Int).Lsh(big.NewInt(1), 100)},
		NoFuture: true,
		Metrics:  metrics,
	}
}

// testMetric keeps two keys of three events a user. Its ladder has one rung, so that no charge
// depends on a count.
func testMetric(name, mode string, size int64) schemas.MetricSpec {
	m := schemas.MetricSpec{
		Name: name, Kind: "events", WindowSize: size, WindowSlide: size, MaxKeysPerUser: 2, MaxEventsPerKey: 3,
		LadderKind: string(noisereduction.Geometric), LadderFactor: 2, First: costing(1 << 20), Top: costing(1 << 20),
		Relative: 0.1, Confidence: 0.95, KeyMode: mode,
	}
	if mode == "public" {
		m.PublicKeys = [][]byte{[]byte("a"), []byte("b"), []byte("c")}
	} else {
		m.DeltaKey = units.Delta{Lo: 1 << 50} // 2^-30
	}
	return m
}

type visit struct {
	user, page string
	millis     int64
	amount     int64
	tag        string
}

// seen returns a visit of which nothing else matters.
func seen(user, page string, millis int64) visit {
	return visit{user: user, page: page, millis: millis}
}

func (v visit) record() []byte {
	return fmt.Appendf(nil, `{"user":%q,"page":%q,"ts":%d,"amount":%d,"tag":%q}`, v.user, v.page, v.millis, v.amount, v.tag)
}

// logOf deals visits to partitions in the order given; every record has the same timestamp, so that
// none is late.
func logOf(visits []visit, partitionOf func(int) int32) Log {
	log := Log{}
	for i, v := range visits {
		p := partitionOf(i)
		log[p] = append(log[p], Record{Offset: int64(len(log[p])), Timestamp: 0, Value: v.record()})
	}
	return log
}

// onePartition returns a log of one partition.
func onePartition(visits ...visit) Log { return logOf(visits, func(int) int32 { return 0 }) }

// owner names a user's account in a period.
func (c Config) owner(user string, period int64) Owner {
	return Owner{schemas.NewHasher(c.UserHash).Account([]byte(user)), period}
}

func mustRun(t interface{ Fatalf(string, ...any) }, c Config, log Log, turns uint64) Output {
	out, err := Run(c, log, nil, turns)
	if err != nil {
		t.Fatalf("running the reference: %v", err)
	}
	if !out.Tallies.consistent() {
		t.Fatalf("tallies do not add up: %+v", out.Tallies)
	}
	return out
}

func TestSmallCaseByHand(t *testing.T) {
	c := testConfig(testMetric("m", "public", 100), testMetric("n", "private", 200))
	visits := []visit{
		seen("u", "a", 10), seen("u", "a", 20), seen("u", "a", 30), seen("u", "a", 40), // 3 counted, 1 clipped by m
		seen("v", "b", 50), seen("v", "zz", 60), // zz is not public
		seen("v", "b", 150), seen("u", "a", 160),
		seen("w", "a", 250), // open: only turn 1 and 2 are closed
	}
	out := mustRun(t, c, onePartition(visits...), 2)
	want := []MetricTallies{
		{Filtered: 1, ClippedEvents: 1, Counted: 6, Open: 1},
		{ClippedEvents: 2, Counted: 6, Open: 1}, // n sees u with five a: 3 of 5; v with two b and one zz
	}
	if !reflect.DeepEqual(out.Tallies.Metrics, want) {
		t.Errorf("tallies are %+v, want %+v", out.Tallies.Metrics, want)
	}
	counts := map[string]int64{}
	for _, p := range out.Published {
		if p.Release.Metric == "m" {
			counts[fmt.Sprint(p.Release.WindowStart, p.Release.Key)] = p.Count
		}
	}
	wantCounts := map[string]int64{"0a": 3, "0b": 1, "0c": 0, "100a": 1, "100b": 1, "100c": 0}
	if !maps.Equal(counts, wantCounts) {
		t.Errorf("counts of the public metric are %v, want %v", counts, wantCounts)
	}
	// One rung of 2^20 account units: u pays 9 + 1 (m) + 9 (n) of them, v 1 + 1 (m) + 4 + 1 (n).
	for user, rungs := range map[string]int64{"u": 19, "v": 7} {
		account := out.Accounts[c.owner(user, 0)]
		if account.Spent == nil || account.Spent.Int64() != rungs<<20 {
			t.Errorf("user %s spent %v, want %d rungs of 2^20", user, account.Spent, rungs)
		}
	}
	if n := len(out.Accounts); n != 2 {
		t.Errorf("%d accounts are not zero, want 2", n)
	}
	if keys := out.Accounts[c.owner("v", 0)].Keys; keys.Cmp(new(big.Int).Lsh(big.NewInt(2), 50)) != 0 {
		t.Errorf("v spent %v units of δ, want those of two keys", keys)
	}
}

func TestPublicKeysAreReleasedInEmptyWindows(t *testing.T) {
	out := mustRun(t, testConfig(testMetric("m", "public", 100), testMetric("n", "private", 100)), Log{}, 3)
	if n := len(out.Published); n != 9 {
		t.Errorf("%d values were published for three public keys over three empty windows, want 9", n)
	}
}

// drawVisits makes visits with many collisions of users, keys, times and windows. Their number is
// drawn first: left to rapid there are about five, too few to reach a bound. Times lie on the edges
// of windows and periods, and many are the same.
func drawVisits(t *rapid.T) []visit {
	n := rapid.SampledFrom([]int{0, 2, 10, 30, 60}).Draw(t, "number of visits")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) visit {
		return visit{
			user:   rapid.SampledFrom([]string{"u", "v", "w", "x", "y"}).Draw(t, "user"),
			page:   rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "page"),
			millis: rapid.SampledFrom([]int64{0, 19, 20, 69, 70, 99, 100, 139, 140, 199, 200, 299, 300, 399}).Draw(t, "millis"),
			amount: rapid.Int64Range(-12, 12).Draw(t, "amount"),
			tag:    rapid.SampledFrom([]string{"x", "y"}).Draw(t, "tag"),
		}
	}), n, n).Draw(t, "visits")
}

// compiledConfig has a metric of each mode, with different windows.
func compiledConfig(t *testing.T) Config {
	c, err := Compile(testConfig(testMetric("m", "public", 100), testMetric("n", "private", 200)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// drawBudget makes budgets from far too small to ample: so many rungs of 2^20, or one unit less.
func drawBudget(t *rapid.T, c Config) Config {
	rungs, less := rapid.Int64Range(1, 80).Draw(t, "rungs"), rapid.Int64Range(0, 1).Draw(t, "less")
	c.Budget.Mu2 = big.NewInt(rungs<<20 - less)
	c.Budget.Keys = new(big.Int).Mul(big.NewInt(rapid.Int64Range(0, 6).Draw(t, "key budget")), new(big.Int).Lsh(big.NewInt(1), 50))
	return c
}

func TestRulePartitionAndOrderOfArrivalChangeNothing(t *testing.T) {
	config := compiledConfig(t)
	rapid.Check(t, func(t *rapid.T) {
		c, visits := drawBudget(t, config), drawVisits(t)
		one := mustRun(t, c, onePartition(visits...), 4)
		permuted := rapid.Permutation(visits).Draw(t, "order")
		parts := rapid.SliceOfN(rapid.Int32Range(0, 7), len(visits), len(visits)).Draw(t, "partitions")
		two := mustRun(t, c, logOf(permuted, func(i int) int32 { return parts[i] }), 4)
		one.Outcomes, two.Outcomes = nil, nil
		if !sameOutput(one, two) {
			t.Fatalf("outputs differ:\n%+v\n%+v", one, two)
		}
	})
}

func sameOutput(a, b Output) bool {
	samePublished := slices.EqualFunc(a.Published, b.Published, func(x, y Published) bool {
		return bytes.Equal(x.Key, y.Key) && bytes.Equal(x.Value, y.Value) && x.Count == y.Count
	})
	return samePublished && sameAccounts(a.Accounts, b.Accounts) && reflect.DeepEqual(a.Tallies, b.Tallies) &&
		reflect.DeepEqual(a.Admitted, b.Admitted) && reflect.DeepEqual(a.Draws, b.Draws)
}

func sameAccounts(a, b map[Owner]Account) bool {
	return maps.EqualFunc(a, b, func(x, y Account) bool { return x.Spent.Cmp(y.Spent) == 0 && x.Keys.Cmp(y.Keys) == 0 })
}

func TestInvariant1SpentNeverExceedsTheBudget(t *testing.T) {
	config := compiledConfig(t)
	rapid.Check(t, func(t *rapid.T) {
		c, visits := drawBudget(t, config), drawVisits(t)
		out := mustRun(t, c, onePartition(visits...), 4)
		for _, account := range out.Accounts {
			if account.Spent.Cmp(c.Budget.Mu2) > 0 || account.Keys.Cmp(c.Budget.Keys) > 0 {
				t.Fatalf("an account has spent %v of %v, %v of %v", account.Spent, c.Budget.Mu2, account.Keys, c.Budget.Keys)
			}
		}
	})
}

func TestInvariant6TalliesAddUp(t *testing.T) {
	config := compiledConfig(t)
	rapid.Check(t, func(t *rapid.T) {
		c, visits := drawBudget(t, config), drawVisits(t)
		out := mustRun(t, c, onePartition(visits...), rapid.Uint64Range(0, 5).Draw(t, "turns"))
		if out.Tallies.Records.Read != uint64(len(visits)) {
			t.Fatalf("%d records were read, want %d", out.Tallies.Records.Read, len(visits))
		}
	})
}

// consistent tells whether the parts add up to the whole, per record and per metric.
func (t Tallies) consistent() bool {
	r := t.Records
	sum := r.BeforeStart + r.Late + r.Future + r.Overtaken + r.Accepted
	for _, n := range r.DeadLettered {
		sum += n
	}
	if sum != r.Read {
		return false
	}
	for i, m := range t.Metrics {
		if m.Filtered+m.ClippedKeys+m.ClippedEvents+m.OverBudget+m.Counted+m.Open+m.GivenUp != t.Windows[i] {
			return false
		}
	}
	return true
}
