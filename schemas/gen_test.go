package schemas

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Generators of valid values of every format.

func genFixed[T ~[16]byte | ~[32]byte](t *rapid.T, name string, n int) (out T) {
	b := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, name)
	switch v := any(&out).(type) {
	case *[16]byte:
		copy(v[:], b)
	case *[32]byte:
		copy(v[:], b)
	case *accounts.ID:
		copy(v[:], b)
	}
	return out
}

func gen16(t *rapid.T) [16]byte { return genFixed[[16]byte](t, "id", 16) }
func gen32(t *rapid.T) [32]byte { return genFixed[[32]byte](t, "digest", 32) }

func genPrecision(t *rapid.T) units.Precision {
	return units.Precision{Hi: rapid.Uint64().Draw(t, "hi") >> rapid.IntRange(0, 64).Draw(t, "shift"),
		Lo: rapid.Uint64().Draw(t, "lo")}
}

func genDelta128(t *rapid.T) units.Delta {
	return units.Delta(genPrecision(t))
}

func genFloat(t *rapid.T) float64 {
	return rapid.Float64().Filter(finite).Draw(t, "float")
}

func genText(t *rapid.T) string { return rapid.StringN(0, 12, 40).Draw(t, "text") }

func genKey(t *rapid.T) []byte { return rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "key") }

func genKeys(t *rapid.T, sorted bool) [][]byte {
	keys := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 6), 0, 8).Draw(t, "keys")
	if sorted {
		slices.SortFunc(keys, bytes.Compare)
		keys = slices.CompactFunc(keys, bytes.Equal)
	}
	return keys
}

func genList[T any](t *rapid.T, most int, gen func(*rapid.T) T) []T {
	n := rapid.IntRange(0, most).Draw(t, "n")
	out := make([]T, n)
	for i := range out {
		out[i] = gen(t)
	}
	return out
}

func genLabels(t *rapid.T, sorted bool) []Label {
	keys := genKeys(t, false)
	labels := make([]Label, len(keys))
	filters := rapid.Bool().Draw(t, "filters")
	for i, k := range keys {
		labels[i].Key = k
		if filters {
			labels[i].Passes = rapid.Uint64().Draw(t, "passes") >> rapid.IntRange(0, 64).Draw(t, "shift")
		}
	}
	if sorted {
		slices.SortFunc(labels, Label.Compare)
		labels = slices.CompactFunc(labels, func(a, b Label) bool { return a.Compare(b) == 0 })
	}
	return labels
}

func genRecords(t *rapid.T, labels int, sorted bool) []RecordValue {
	if labels == 0 || rapid.Bool().Draw(t, "no records") {
		return nil
	}
	out := genList(t, 3, func(t *rapid.T) RecordValue {
		return RecordValue{Key: uint32(rapid.IntRange(0, labels-1).Draw(t, "label")), N: rapid.Uint32().Draw(t, "n"),
			Value: rapid.Int64().Draw(t, "value"), ID: RecordID(gen16(t))}
	})
	if sorted {
		slices.SortFunc(out, func(a, b RecordValue) int { return a.compare(&b) })
		out = slices.CompactFunc(out, func(a, b RecordValue) bool { return a.compare(&b) == 0 })
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func genFiltered(t *rapid.T) []uint64 {
	return genList(t, 3, func(t *rapid.T) uint64 { return rapid.Uint64().Draw(t, "filtered") })
}

func genOpenSlice(t *rapid.T) OpenSlice {
	o := OpenSlice{Turn: rapid.Uint64().Draw(t, "turn"), Filtered: genFiltered(t), Labels: genLabels(t, true)}
	o.Users = genContribUsers(t, len(o.Labels), true)
	return o
}

func genEntries(t *rapid.T, keys int, sorted bool) []KeyCount {
	if keys == 0 {
		return nil
	}
	out := genList(t, 4, func(t *rapid.T) KeyCount {
		return KeyCount{Key: uint32(rapid.IntRange(0, keys-1).Draw(t, "index")), N: rapid.Uint32().Draw(t, "n")}
	})
	if sorted {
		slices.SortFunc(out, func(a, b KeyCount) int { return int(a.Key) - int(b.Key) })
		out = slices.CompactFunc(out, func(a, b KeyCount) bool { return a.Key == b.Key })
	}
	return out
}

// genID takes few ids, so that one has several periods.
func genID(t *rapid.T) (id accounts.ID) {
	id = accounts.ID(gen16(t))
	if rapid.Bool().Draw(t, "few") {
		id = accounts.ID{0: byte(rapid.IntRange(0, 3).Draw(t, "id"))}
	}
	return id
}

func genPeriod(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-3, 3), rapid.Int64()).Draw(t, "period")
}

func genContribUsers(t *rapid.T, keys int, sorted bool) []ContribUser {
	users := genList(t, 8, func(t *rapid.T) ContribUser {
		return ContribUser{ID: genID(t), Period: genPeriod(t), Entries: genEntries(t, keys, sorted),
			Records: genRecords(t, keys, sorted)}
	})
	if sorted {
		slices.SortFunc(users, func(a, b ContribUser) int { return CompareUsers(&a, &b) })
		users = slices.CompactFunc(users, func(a, b ContribUser) bool { return CompareUsers(&a, &b) == 0 })
	}
	return users
}

func genMetric(t *rapid.T) MetricSpec {
	ms := func() int64 { return rapid.Int64().Draw(t, "ms") }
	return MetricSpec{Name: genText(t), Kind: genText(t), Filter: genText(t), Of: genText(t), KeysFrom: genText(t),
		Min: ms(), Max: ms(), WindowSize: ms(), WindowSlide: ms(),
		Lateness: ms(), Skew: ms(), Slack: ms(), MaxKeysPerUser: rapid.Uint32().Draw(t, "k"),
		MaxEventsPerKey: rapid.Uint32().Draw(t, "c"), LadderKind: genText(t), LadderFactor: genFloat(t),
		First: genPrecision(t), Top: genPrecision(t), Relative: genFloat(t), Absolute: genFloat(t),
		Confidence: genFloat(t), KeyMode: genText(t), PublicKeys: genKeys(t, true), DeltaKey: genDelta128(t),
		Period: genText(t)}
}

func genTallies(t *rapid.T) ReadTallies {
	n := func() uint64 { return rapid.Uint64().Draw(t, "tally") }
	out := ReadTallies{Read: n(), Skipped: n(), BeforeStart: n(), Late: n(), Future: n(), Overtaken: n(), Accepted: n()}
	if classes := rapid.MapOfN(rapid.StringN(0, 5, 10), rapid.Uint64(), 0, 4).Draw(t, "classes"); len(classes) > 0 {
		out.DeadLettered = classes
	}
	return out
}

func genHeader(t *rapid.T) *Header {
	h := genFirstHeader(t)
	h.Events.Filters = []string{}
	for range Filters(h.Metrics) {
		h.Events.Filters = append(h.Events.Filters, genText(t))
	}
	h.FromTurn, h.SliceStart = 1+rapid.Uint64Range(3, 1<<60).Draw(t, "turn"), rapid.Int64().Draw(t, "slice start")
	for range rapid.IntRange(0, 2).Draw(t, "past") {
		h.Past = append(h.Past, PastGeneration{Lateness: 5, Skew: -1,
			Slack: rapid.Int64().Draw(t, "slack"),
			Below: []Boundary{{rapid.Int32().Draw(t, "partition"), rapid.Int64().Draw(t, "below")}},
			Metrics: []MetricIdentity{{genText(t), genText(t), genText(t), genText(t), genText(t), genText(t),
				genText(t), 5, rapid.Int64().Draw(t, "slide")}}})
	}
	h.Before = genList(t, 2, func(t *rapid.T) MetricAllowance {
		return MetricAllowance{genText(t),
			accounts.Allowance{Burst: units.Mu2(rapid.Uint64().Draw(t, "burst")),
				Refill: units.Mu2(rapid.Uint64().Draw(t, "refill")), Horizon: rapid.Int64().Draw(t, "horizon")}}
	})
	if rapid.Bool().Draw(t, "planned") {
		h.Budget.Planned = budgets.Planned{Share: rapid.Float64Range(1e-9, 0.999).Draw(t, "share"),
			Mu2: units.Mu2(rapid.Uint64().Draw(t, "planned mu2")), Keys: genDelta128(t)}
	}
	h.Zone = rapid.SampledFrom([]string{"", "", "Europe/Zurich", "America/Havana"}).Draw(t, "zone")
	return h
}

func genFirstHeader(t *rapid.T) *Header {
	return &Header{Incarnation: gen16(t), Generation: rapid.Uint32().Draw(t, "generation"),
		NoiseKeys: genList(t, 3, func(t *rapid.T) KeyFingerprint {
			return KeyFingerprint{ID: genText(t), FromTurn: rapid.Uint64().Draw(t, "turn"), Fingerprint: gen32(t)}
		}),
		UserHash: gen32(t),
		Budget: budgets.Budget{Epsilon: genFloat(t), Delta: genFloat(t), Accountant: budgets.Accountant(genText(t)),
			Mu2: units.Mu2(rapid.Uint64().Draw(t, "mu2")), Keys: genDelta128(t)},
		Shards: rapid.Uint32().Draw(t, "shards"), ReleaseShards: rapid.Uint32().Draw(t, "shards"),
		LedgerSlots: rapid.Uint32().Draw(t, "slots"), By: genText(t), Why: genText(t),
		StartMillis: rapid.Int64().Draw(t, "start"),
		Deployment:  genText(t), EventsTopic: genText(t), Events: EventIdentity{Records: genText(t), User: genText(t),
			Key: genText(t), Time: genText(t), Value: genText(t)},
		Trust: genText(t), NoFuture: rapid.Bool().Draw(t, "no future"), Metrics: genList(t, 3, genMetric),
		Topics: Topics{Counts: genText(t), Control: genText(t), Ledger: genText(t), DeadLetter: genText(t),
			Turns: genText(t)}, Counts: genCountsEncoding(t)}
}

func genCountsEncoding(t *rapid.T) CountsEncoding {
	e := CountsEncoding{Format: CountsFormat(rapid.SampledFrom(CountsFormats()).Draw(t, "format"))}
	if e.Format == CountsAvro {
		e.SchemaID = rapid.Uint32Range(1, math.MaxInt32).Draw(t, "schema id")
	}
	return e
}

func genClose(t *rapid.T) *Close {
	offset := func() int64 { return rapid.Int64().Draw(t, "offset") }
	c := &Close{Epoch: offset(), Turn: rapid.Uint64().Draw(t, "turn"), Contributions: rapid.Uint64().Draw(t, "n"),
		Cuts: genList(t, 5, func(t *rapid.T) Cut {
			return Cut{Cut: offset(), Restart: offset(), AppendTime: offset(),
				LeaderEpoch: rapid.Int32().Draw(t, "leader"), Idle: rapid.Bool().Draw(t, "idle"),
				Lag:   rapid.Int64Range(0, 1<<40).Draw(t, "lag"),
				Ahead: genList(t, 3, func(*rapid.T) int64 { return offset() })}
		}), Tallies: genTallies(t)}
	for i := range c.Cuts {
		c.Cuts[i].Partition = int32(3 * i)
	}
	return c
}

func genSettledKey(t *rapid.T) SettledKey {
	return SettledKey{Metric: rapid.Uint32Range(0, 3).Draw(t, "metric"), WindowStart: rapid.Int64().Draw(t, "start"),
		WindowEnd: rapid.Int64().Draw(t, "end"), Key: genKey(t), Precision: genPrecision(t)}
}

func genMetricTallies(t *rapid.T) []MetricTally {
	return genList(t, 3, func(t *rapid.T) MetricTally {
		return MetricTally{Metric: rapid.Uint32().Draw(t, "metric"),
			WindowTally: WindowTally{Filtered: 1, Beyond: rapid.Uint64().Draw(t, "beyond"),
				Counted: rapid.Uint64().Draw(t, "counted")}}
	})
}

func genSettled(t *rapid.T) Settled {
	return Settled{Epoch: rapid.Int64().Draw(t, "epoch"), Turn: rapid.Uint64().Draw(t, "turn"),
		FirstRungs: genList(t, 3, genPrecision),
		CountsEnd:  genList(t, 3, func(t *rapid.T) int64 { return rapid.Int64().Draw(t, "end") }),
		Tallies:    genMetricTallies(t),
		Keys:       genList(t, 12, genSettledKey)}
}

func genControl(t *rapid.T) Control {
	c := Control{Back: rapid.Int64().Draw(t, "back"), BackEpoch: rapid.Int64().Draw(t, "back epoch"),
		Generation: rapid.Int64().Draw(t, "generation")}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		c.Body = genHeader(t)
	case 1:
		c.Body = &Epoch{RunID: gen16(t), Run: rapid.Int64().Draw(t, "run"), Settled: rapid.Uint64().Draw(t, "settled"),
			Host: "host", Began: rapid.Int64().Draw(t, "began"), Cluster: "c", EventsID: gen16(t)}
	case 2:
		c.Body = genClose(t)
	case 3:
		s := genSettled(t)
		s.Parts, s.Digest = 1, gen32(t)
		c.Body = &s
	case 4:
		c.Body = &Stop{Epoch: rapid.Int64().Draw(t, "epoch"), Turn: rapid.Uint64().Draw(t, "turn"), Reason: genText(t)}
	case 5:
		g := &Generation{Epoch: rapid.Int64().Draw(t, "epoch"), CountsEnd: []int64{rapid.Int64().Draw(t, "end")},
			Header: *genHeader(t)}
		g.Header.Generation = 2 + g.Header.Generation>>1
		if g.Header.Past == nil {
			g.Header.Past = []PastGeneration{{}}
		}
		c.Body = g
	case 6:
		c.Body = &Run{ID: gen16(t)}
	case 7:
		c.Body = genRunRecord(t)
	case 8:
		c.Body = &Forget{Epoch: rapid.Int64().Draw(t, "epoch"), Turn: rapid.Uint64().Draw(t, "turn"), By: genText(t),
			Why: genText(t)}
	default:
		c.Body = &Recover{By: genText(t), Stop: rapid.Int64().Draw(t, "stop")}
	}
	return c
}

func genMetricWindow(t *rapid.T) MetricWindow {
	return MetricWindow{Metric: rapid.Uint32().Draw(t, "metric"), WindowStart: rapid.Int64().Draw(t, "start"),
		WindowEnd: rapid.Int64().Draw(t, "end")}
}

func genDelta(t *rapid.T) Delta {
	d := Delta{Turn: rapid.Uint64().Draw(t, "turn"), Epoch: rapid.Int64().Draw(t, "epoch"),
		Records: rapid.Uint64().Draw(t, "records"), Windows: genList(t, 11, genMetricWindow), Filtered: genFiltered(t),
		Labels: genLabels(t, true)}
	d.Tallies = make([]WindowTally, len(d.Windows))
	for i := range d.Tallies {
		d.Tallies[i] = WindowTally{Filtered: rapid.Uint64().Draw(t, "f"), Beyond: 2,
			Counted: rapid.Uint64().Draw(t, "c")}
	}
	for _, u := range genContribUsers(t, len(d.Labels), true) {
		du := DeltaUser{u, NewBits(len(d.Windows))}
		mode := rapid.IntRange(0, 2).Draw(t, "admitted")
		for i := range d.Windows {
			if mode == 1 || mode == 2 && rapid.Bool().Draw(t, "bit") {
				du.Admitted.Set(i)
			}
		}
		d.Users = append(d.Users, du)
	}
	return d
}

func genSnapshot(t *rapid.T) Snapshot {
	s := Snapshot{Turn: rapid.Uint64().Draw(t, "turn"), Epoch: rapid.Int64().Draw(t, "epoch")}
	for _, u := range genContribUsers(t, 0, true) {
		e := accounts.Entry{ID: u.ID, Period: u.Period}
		e.Account.Spent = units.Mu2(rapid.Uint64Range(1, math.MaxUint64).Draw(t, "spent"))
		if rapid.Bool().Draw(t, "debts") {
			e.Debts = []units.Mu2{units.Mu2(rapid.Uint64().Draw(t, "debt")), 1}
		}
		s.Accounts = append(s.Accounts, e)
	}
	s.Forgotten = slices.CompactFunc(slices.SortedFunc(slices.Values(genList(t, 3, func(t *rapid.T) ForgottenMark {
		return gen16(t)
	})), ForgottenMark.Compare), func(a, b ForgottenMark) bool { return a == b })
	turn := uint64(0)
	s.Open = genList(t, 3, func(t *rapid.T) []byte {
		turn += rapid.Uint64Range(1, 1000).Draw(t, "step")
		o := genOpenSlice(t)
		o.Turn = turn
		b, err := EncodeOpenSlice(o)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
	return s
}

func genContributions(t *rapid.T) Contributions {
	c := Contributions{Epoch: rapid.Int64().Draw(t, "epoch"), Turn: rapid.Uint64().Draw(t, "turn"),
		Shard: rapid.Uint32().Draw(t, "shard"), Records: rapid.Uint64().Draw(t, "records"), Labels: genLabels(t, false)}
	c.Users = genContribUsers(t, len(c.Labels), false)
	return c
}

func genOpen(t *rapid.T) Open {
	return Open{Epoch: rapid.Int64().Draw(t, "epoch"), Turn: rapid.Uint64().Draw(t, "turn"),
		Contributions: rapid.Uint64().Draw(t, "n"), Shard: rapid.Uint32().Draw(t, "shard"),
		Shards: rapid.Uint32().Draw(t, "shards"), SettledAt: rapid.Int64().Draw(t, "settled"),
		FromLedger: rapid.Bool().Draw(t, "ledger"), Group: rapid.Uint32().Draw(t, "group"),
		Groups: rapid.Uint32().Draw(t, "groups")}
}

func genPartial(t *rapid.T) Partial {
	u32 := func() uint32 { return rapid.Uint32().Draw(t, "shard") }
	return Partial{Epoch: rapid.Int64().Draw(t, "epoch"), Turn: rapid.Uint64().Draw(t, "turn"), Shard: u32(),
		Shards: u32(), ReleaseShard: u32(), ReleaseShards: u32(), Records: rapid.Uint64().Draw(t, "records"),
		Total: rapid.Uint64().Draw(t, "total"), Tallies: genMetricTallies(t),
		Cells: genList(t, 8, func(t *rapid.T) Cell {
			p := genMetricWindow(t)
			return Cell{Metric: p.Metric, WindowStart: p.WindowStart, WindowEnd: p.WindowEnd, Key: genKey(t),
				Count: rapid.Int64().Draw(t, "count")}
		})}
}

func genAck(t *rapid.T) Ack {
	return Ack{Epoch: rapid.Int64().Draw(t, "epoch"), Turn: rapid.Uint64().Draw(t, "turn"),
		ReleaseShard: rapid.Uint32().Draw(t, "shard"), ReleaseShards: rapid.Uint32().Draw(t, "shards"),
		CountsEnd: rapid.Int64().Draw(t, "end"), Tallies: genMetricTallies(t), Keys: genList(t, 8, genSettledKey)}
}

func genRelease(t *rapid.T) Release {
	return Release{Turn: rapid.Uint64Range(0, math.MaxInt64).Draw(t, "turn"),
		Generation: rapid.Uint32().Draw(t, "generation"),
		Metric:     strings.ReplaceAll(genText(t), keySeparator, ""), MetricDigest: gen32(t),
		WindowStart: rapid.Int64().Draw(t, "start"),
		WindowEnd:   rapid.Int64().Draw(t, "end"), Key: genText(t), Value: rapid.Int64().Draw(t, "value"),
		StdDev: genFloat(t), Low: genFloat(t), High: genFloat(t), Precision: genPrecision(t), Confidence: genFloat(t),
		Met: rapid.Bool().Draw(t, "met"), Rungs: rapid.Uint32Range(1, math.MaxInt32).Draw(t, "rungs"),
		NoiseKeyID: genText(t)}
}
