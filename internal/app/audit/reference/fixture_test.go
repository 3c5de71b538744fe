package reference

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

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
			Format: "jsonl", User: "user", Key: "page", Time: "ts", TimeUnit: "ms", Value: "amount",
			Filters: []string{tagged},
		},
		UserHash:    [32]byte{2},
		Noise:       noisereduction.NoiseKey{ID: "k", Secret: secret.New([32]byte{3})},
		Budget:      1 << 60,
		AllowFuture: true,
		Metrics:     metrics,
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

func (v visit) record() []byte {
	return fmt.Appendf(nil, `{"user":%q,"page":%q,"ts":%d,"amount":%d,"tag":%q}`, v.user, v.page, v.millis, v.amount,
		v.tag)
}

// owner names a user's account in a period.
func (c Config) owner(user string, period int64) Owner {
	return Owner{schemas.NewHasher(c.UserHash).Account([]byte(user)), period}
}

// outputs are what is decided about each individual and drawn.
type outputs struct {
	accounts map[Owner]Account
	admitted map[Owner][]decision // in order
	draws    []turnDraw
}

type decision struct {
	turn   uint64
	metric int
	Contribution
}

type turnDraw struct {
	turn uint64
	Draw
}

// mustRun replays visits of one partition.
func mustRun(t interface{ Fatalf(string, ...any) }, c Config, visits []visit, turns uint64) outputs {
	r, err := NewReplay(c, nil, turns, 0)
	if err != nil {
		t.Fatalf("preparing a replay: %v", err)
	}
	for i, v := range visits { // all have the same timestamp, so that none is late
		if _, err := r.Reader(0).Read(int64(i), 0, v.record()); err != nil {
			t.Fatalf("reading: %v", err)
		}
	}
	out := outputs{accounts: map[Owner]Account{}, admitted: map[Owner][]decision{}}
	for range turns {
		turn := r.Begin()
		r.Gather(turn)
		r.Decide(turn)
		if err := r.Release(turn); err != nil {
			t.Fatalf("releasing: %v", err)
		}
		if err := r.Charge(turn); err != nil {
			t.Fatalf("charging: %v", err)
		}
		for _, m := range slices.Concat(turn.Members...) {
			for _, part := range m.Parts {
				out.admitted[m.Owner] = append(out.admitted[m.Owner], decision{turn.Number, part.Metric,
					part.Contribution})
			}
		}
		for _, d := range turn.Draws {
			out.draws = append(out.draws, turnDraw{turn.Number, d})
		}
	}
	for owner := range r.Owners {
		out.accounts[owner], _ = r.Account(owner)
	}
	return out
}

// drawVisits makes visits with many collisions of users, keys, times and windows. Their number is
// drawn first: left to rapid there are about five, too few to reach a bound. Times lie on the edges
// of windows and periods, and many are the same.
func drawVisits(t *rapid.T) []visit {
	n := rapid.SampledFrom([]int{0, 2, 10, 30, 60}).Draw(t, "number of visits")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) visit {
		return visit{
			user: rapid.SampledFrom([]string{"u", "v", "w", "x", "y"}).Draw(t, "user"),
			page: rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "page"),
			millis: rapid.SampledFrom([]int64{0, 19, 20, 69, 70, 99, 100, 139, 140, 199, 200, 299, 300, 399}).Draw(t,
				"millis"),
			amount: rapid.Int64Range(-12, 12).Draw(t, "amount"),
			tag:    rapid.SampledFrom([]string{"x", "y"}).Draw(t, "tag"),
		}
	}), n, n).Draw(t, "visits")
}

func sameAccounts(a, b map[Owner]Account) bool {
	return maps.EqualFunc(a, b, func(x, y Account) bool {
		return x.Spent == y.Spent && slices.Equal(x.Buckets, y.Buckets)
	})
}

// costing returns a precision whose charge for a contribution of 1 is n account units.
func costing(n int64) units.Precision {
	p, err := units.PrecisionFromBig(new(big.Int).Lsh(big.NewInt(n), 40))
	if err != nil {
		panic(err)
	}
	return p
}

// kind makes a metric of another kind out of an event count; its ladder ends at 1 unit.
func kind(m schemas.MetricSpec, kind string) schemas.MetricSpec {
	m.Kind, m.First, m.Top = kind, costing(1), costing(1)
	return m
}

func sum(m schemas.MetricSpec, low, high int64) schemas.MetricSpec {
	m = kind(m, "sum")
	m.Min, m.Max = low, high
	m.Relative, m.Absolute = 0, 1
	return m
}

// from makes a metric take the keys of another one.
func from(m schemas.MetricSpec, base string) schemas.MetricSpec {
	m.KeyMode, m.KeysFrom, m.PublicKeys, m.DeltaKey = "from", base, nil, units.Delta{}
	return m
}

// further returns the further components of a metric.
func extra(base schemas.MetricSpec) (all []schemas.MetricSpec) {
	for _, kind := range components(base.Kind) {
		m := from(base, base.Name)
		m.Name, m.Kind, m.Of, m.Absolute = base.Name+"."+kind, kind, base.Name, 0
		all = append(all, m)
	}
	return all
}

// share returns the share of another metric's events that is counted, of so many events of a user
// at most.
func share(base schemas.MetricSpec, events uint32) schemas.MetricSpec {
	m := testMetric(base.Name+".counted", "public", base.WindowSize)
	m.Kind, m.Of, m.Filter, m.WindowSlide, m.Period = "counted", base.Name, base.Filter, base.WindowSlide, base.Period
	m.MaxKeysPerUser, m.MaxEventsPerKey = 2, events
	m.PublicKeys = [][]byte{[]byte("counted"), []byte("left_out")}
	m.First, m.Top = costing(1), costing(1)
	return m
}

// inPeriods gives a configuration budget periods of so many milliseconds.
func inPeriods(c Config, millis int64, name string) Config {
	c.Period = millis
	for i := range c.Metrics {
		c.Metrics[i].Period = name
	}
	return c
}
