package spend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// testKeys ascend. Some are what NodeKey makes of others, for a leaf or for the root.
var testKeys = []string{"", "\x00\x00\x00\x00\x00\x08", "\x00\x01a\x00\x00\x00\x01", "a", "a\x00\x00\x00\x08", "b", "é",
	"zz"}

// drawSettings makes a small deployment whose users soon run out of budget.
func drawSettings(t *rapid.T) settings {
	s := settings{
		shards:        rapid.IntRange(1, 3).Draw(t, "shards"),
		releaseShards: rapid.IntRange(1, 3).Draw(t, "release shards"),
		slots:         rapid.SampledFrom([]int{minLedgerSlots, 5, 6, 7, 8, 9, 12, 17}).Draw(t, "slots"),
	}
	var extra []schemas.MetricSpec
	base := -1 // a metric whose keys another one may take
	for i := range rapid.IntRange(1, 4).Draw(t, "metrics") {
		m := drawMetric(t, fmt.Sprintf("m%d", i))
		if base >= 0 && m.KeyMode == schemas.KeysPrivate && (m.Kind == metrickind.Sum || rapid.Bool().Draw(t, "from")) {
			from := s.metrics[base]
			m.KeyMode, m.KeysFrom, m.WindowSize, m.WindowSlide = schemas.KeysFrom, from.Name, from.WindowSize,
				from.WindowSlide
		} else if m.KeyMode == schemas.KeysPrivate && m.Kind == metrickind.Sum {
			m.Kind = metrickind.Events
		}
		if m.KeyMode == schemas.KeysPrivate {
			base = len(s.metrics)
		}
		s.metrics = append(s.metrics, m)
		extra = append(extra, extraOf(&m, drawAlso(t, &m)...)...)
		if rapid.IntRange(0, 2).Draw(t, "counted") == 0 {
			share := shareOf(&m, rapid.Uint32Range(1, 12).Draw(t, "events of a share"))
			share.Top = units.Precision{Lo: rapid.Uint64Range(1, 1<<42).Draw(t, "top of a share")}
			share.First = share.Top
			s.metrics = append(s.metrics, share)
		}
	}
	s.metrics = append(s.metrics, extra...)
	s.budget = budgets.Budget{Mu2: units.Mu2(rapid.Uint64Range(1, 1<<12).Draw(t, "B²"))}
	return s
}

// shareOf returns the share of a metric's events that is counted.
func shareOf(m *schemas.MetricSpec, events uint32) schemas.MetricSpec {
	return schemas.MetricSpec{Name: m.Name + ".counted", Kind: metrickind.Counted, Of: m.Name, Filter: m.Filter,
		KeyMode: schemas.KeysPublic, PublicKeys: [][]byte{[]byte("counted"), []byte("left_out")}, MaxKeysPerUser: 2,
		MaxEventsPerKey: events, Burst: m.Burst, Refill: m.Refill, Horizon: m.Horizon, WindowSize: m.WindowSize,
		WindowSlide: m.WindowSlide, First: m.First, Top: m.Top}
}

// drawAlso draws the kinds released beside a metric. Over a wide range, no account would pay for
// them.
func drawAlso(t *rapid.T, m *schemas.MetricSpec) (also []string) {
	for _, kind := range metrickind.Of(m.Kind).Also() {
		if m.Max-m.Min <= 100 && rapid.IntRange(0, 2).Draw(t, "also "+kind) == 0 {
			also = append(also, kind)
		}
	}
	return also
}

// extraOf returns the further components of a metric, each with a top of its own, and the kinds
// released beside it.
func extraOf(m *schemas.MetricSpec, also ...string) (all []schemas.MetricSpec) {
	for _, kind := range also {
		all = append(all, part(*m, metrickind.AlsoKind(kind).Name))
	}
	for i, kind := range metrickind.Of(m.Kind).ExtraSums(also) {
		top := units.Precision{Hi: m.Top.Hi, Lo: max(m.Top.Lo>>i, 1)}
		all = append(all, schemas.MetricSpec{Name: kind.Beside(m.Name), Kind: kind.Name, Of: m.Name,
			KeyMode: schemas.KeysFrom, KeysFrom: m.Route(), Min: m.Min, Max: m.Max, MaxEventsPerKey: m.MaxEventsPerKey,
			WindowSize: m.WindowSize, WindowSlide: m.WindowSlide, First: top, Top: top})
	}
	if tree := metrickind.Of(m.Kind).Tree; tree != nil {
		nodes := *m
		kind := tree.Nodes[int(m.MaxKeysPerUser)%len(tree.Nodes)]
		nodes.Name, nodes.Kind, nodes.Of, nodes.KeyMode, nodes.KeysFrom = m.Name+"."+
			kind, kind, m.Name, schemas.KeysFrom, m.Route()
		nodes.Filter, nodes.PublicKeys, nodes.First = "", nil, m.Top
		if m.Kind == metrickind.Histogram { // a bucket for each small value
			edges := []int64{m.Min}
			for edge := max(m.Min+1, -3); edge < min(m.Max, 40); edge++ {
				edges = append(edges, edge)
			}
			nodes.PublicKeys = schemas.EdgeKeys(append(edges, m.Max))
		}
		all = append(all, nodes)
	}
	return all
}

func drawMetric(t *rapid.T, name string) schemas.MetricSpec {
	m := schemas.MetricSpec{
		Name: name, KeyMode: schemas.KeysPrivate,
		Kind: rapid.SampledFrom(append(metrickind.Names(metrickind.Offered()), metrickind.Events)).Draw(t,
			"kind"),
		Filter:          rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(t, "filter"),
		MaxKeysPerUser:  rapid.Uint32Range(0, 4).Draw(t, "K"),
		MaxEventsPerKey: rapid.Uint32Range(0, 5).Draw(t, "C"),
		First:           units.Precision{Lo: rapid.Uint64Range(1, 1<<41).Draw(t, "first")},
	}
	if rapid.Bool().Draw(t, "bucket") {
		m.Burst, m.Refill = units.Mu2(rapid.Uint64Range(1, 1<<11).Draw(t, "burst")),
			units.Mu2(rapid.Uint64Range(0, 1<<13).Draw(t, "refill"))
		m.Horizon = rapid.Int64Range(1, 40*testTurn).Draw(t, "horizon")
	}
	m.WindowSlide = testTurn * rapid.SampledFrom([]int64{1, 1, 2, 3, 6}).Draw(t, "slide")
	m.WindowSize = m.WindowSlide * rapid.SampledFrom([]int64{1, 1, 2, 3}).Draw(t, "slides")
	m.Top, _ = m.First.Add(units.Precision{Lo: rapid.Uint64Range(0, 1<<44).Draw(t, "top")})
	if metrickind.Of(m.Kind).Values() {
		m.Min, m.Max = rapid.Int64Range(-3, 0).Draw(t, "min"), rapid.Int64Range(0, 9).Draw(t, "max")
		if m.Kind == metrickind.Histogram { // with two buckets or more
			m.Max = max(m.Max, 2)
		}
		if metrickind.Of(m.Kind).Tree != nil && rapid.Bool().Draw(t, "wide") { // with up to 44 buckets, or five levels
			m.Min, m.Max = rapid.SampledFrom([]int64{-1 << 36, -3, 0}).Draw(t, "wide min"),
				rapid.SampledFrom([]int64{100, 1_000_000, 1 << 36}).Draw(t, "wide max")
		}
	}
	if rapid.Bool().Draw(t, "public") {
		m.KeyMode = schemas.KeysPublic
		for _, k := range testKeys[:rapid.IntRange(1, len(testKeys)).Draw(t, "public keys")] {
			m.PublicKeys = append(m.PublicKeys, []byte(k))
		}
	}
	return m
}

func drawContributions(t *rapid.T) []contribution {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) contribution {
		return contribution{
			user:   rapid.IntRange(0, 5).Draw(t, "user"),
			period: rapid.Int64Range(-1, 1).Draw(t, "period"),
			key:    rapid.SampledFrom(testKeys).Draw(t, "key"),
			n:      rapid.Uint32Range(1, 7).Draw(t, "n"),
			passes: rapid.Uint64Range(0, 3).Draw(t, "passes"),
			value:  drawValue(t),
		}
	}), 0, 12).Draw(t, "contributions")
}

// drawValue draws values inside and outside of most ranges, and next to edges.
func drawValue(t *rapid.T) int64 {
	if rapid.IntRange(0, 3).Draw(t, "far") > 0 {
		return rapid.Int64Range(-5, 12).Draw(t, "value")
	}
	return rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1 << 36, 1<<36 - 1, 1 << 36, 1<<36 + 1,
		math.MaxInt64, 39, 40, 99, 100, 101, 999_999}).Draw(t, "far value")
}

// drawMany draws the contributions of eight users to many keys: bounds clip them, and what one user
// does could get in the way of another. rapid's own draws are mostly small.
func drawMany(t *rapid.T) []contribution {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)) // fixed seed: rapid draws it
	cs := make([]contribution, 30+rng.IntN(30))
	for i := range cs {
		cs[i] = contribution{user: rng.IntN(8), period: rng.Int64N(2), key: testKeys[rng.IntN(len(testKeys))],
			n: 1 + rng.Uint32N(7), passes: rng.Uint64N(4), value: rng.Int64N(18) - 5}
	}
	return cs
}

// drawTurnSettings draws a deployment whose windows have one turn each.
func drawTurnSettings(t *rapid.T) settings {
	s := drawSettings(t)
	for i := range s.metrics {
		s.metrics[i].WindowSize, s.metrics[i].WindowSlide = testTurn, testTurn
	}
	return s
}

func drawHappenings(t *rapid.T, shards int) []happening {
	if rapid.IntRange(0, 2).Draw(t, "calm") == 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) happening {
		return happening{
			shard: rapid.IntRange(0, shards-1).Draw(t, "shard"),
			kind:  kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")),
			arg:   rapid.IntRange(0, 12).Draw(t, "records that land"),
		}
	}), 1, 3).Draw(t, "happenings")
}

// TestAccountsAreExactWhateverHappens is invariant 1 and invariant 5 in one: under crashes at any
// point of an append, restarts, lost caches and lost state, redeliveries and compaction, counts,
// tallies and accounts equal an independent sequential computation, no account is ever over budget,
// and partial counts and ledger equal an undisturbed run's byte for byte.
func TestAccountsAreExactWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		disturbed := must.Have(newWorld(s, 1))
		quiet := must.Have(newWorld(s, 2))
		watchSlots(t, disturbed)
		disturbed.maxRecord = rapid.SampledFrom([]int{130, 200, maxLedgerRecord}).Draw(t, "bytes of a ledger record")
		disturbed.engine.maxRecord = disturbed.maxRecord
		m := newModel(s)
		turns := rapid.IntRange(1, 3*s.slots).Draw(t, "turns")
		for turn := uint64(1); turn <= uint64(turns); turn++ {
			cs := drawContributions(t)
			m.open(turn, cs)
			want, err := quiet.play(turn, cs, nil)
			if err != nil {
				t.Fatalf("turn %d, undisturbed: %v", turn, err)
			}
			got, err := disturbed.play(turn, cs, drawHappenings(t, s.shards))
			if err != nil {
				t.Fatalf("turn %d: %v", turn, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("turn %d: partial counts are %+v, undisturbed %+v", turn, got, want)
			}
			if err := disturbed.agree(m, got); err != nil {
				t.Fatalf("turn %d: %v", turn, err)
			}
			sameDeltas(t, turn, disturbed, quiet)
			quiet.settle(turn, want)
			m.charge(disturbed.settle(turn, got))
		}
	})
}

// sameDeltas compares the bodies of a turn's deltas in two ledgers.
func sameDeltas(t *rapid.T, turn uint64, a, b *world) {
	t.Helper()
	for shard := range a.shards {
		var digests [2][32]byte
		for i, w := range []*world{a, b} {
			d := decidedDelta(t, w, shard, turn)
			digests[i] = d.BodyDigest()
		}
		if digests[0] != digests[1] {
			t.Fatalf("turn %d, shard %d: the ledger's decisions differ from an undisturbed run's", turn, shard)
		}
	}
}

// watchSlots checks the rules of overwriting at every stored record: a delta only if a snapshot of
// an earlier append covers it, a complete one of the same turn only by itself, and a snapshot only
// in the slot that does not have the newest.
func watchSlots(t *rapid.T, w *world) {
	w.ledger.onRecord = func(shard int, log []accounts.LedgerRecord, r accounts.LedgerRecord) {
		part := must.Have(schemas.DecodeLedgerPart(r.Key, r.Value))
		var before schemas.LedgerReader
		for _, old := range log {
			must.Succeed(t, before.Add(old))
		}
		turn := part.Set.Turn
		switch part.Key.Kind {
		case schemas.KindDeltaPart:
			covered := turn < uint64(w.slots)
			for _, s := range before.Snapshots() {
				covered = covered || (s.Complete && s.Turn >= turn-uint64(w.slots) && s.Turn+1 < turn)
			}
			if turn == uint64(w.slots) { // slot 0 was never written
				covered = true
			}
			after := must.Have(before.DeltasAfter(turn - 1))
			d, complete := after[turn]
			if complete && (d.Epoch != part.Set.Epoch || d.BodyDigest() != part.Set.Digest) {
				t.Fatalf("shard %d: the delta of turn %d is complete and another one is written over it", shard, turn)
			}
			if !covered {
				t.Fatalf("shard %d: the delta of turn %d overwrites one that no earlier snapshot covers: %+v", shard,
					turn, before.Snapshots())
			}
		case schemas.KindSnapshotPart:
			newest, other := before.Snapshots()[part.Key.Slot], before.Snapshots()[1-part.Key.Slot]
			if newest.Complete && newest.Turn >= other.Turn {
				t.Fatalf("shard %d: the snapshot of turn %d overwrites the newest complete one, of turn %d", shard,
					turn, newest.Turn)
			}
		}
	}
}
