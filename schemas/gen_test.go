package schemas

import (
	"bytes"
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Generators of valid values of every format. The fields of a type are drawn by reflection, except
// those that the format restricts.

var (
	genText      = rapid.StringN(0, 12, 40)
	genKey       = rapid.SliceOfN(rapid.Byte(), 0, 20)
	genPrecision = rapid.Custom(func(t *rapid.T) units.Precision {
		return units.Precision{Hi: rapid.Uint64().Draw(t, "hi") >> rapid.IntRange(0, 64).Draw(t, "shift"),
			Lo: rapid.Uint64().Draw(t, "lo")}
	})
	// genID often draws one of few ids, so that one has several periods.
	genID = rapid.OneOf(rapid.Make[accounts.ID](), rapid.Map(rapid.ByteRange(0, 3), func(b byte) accounts.ID {
		return accounts.ID{b}
	}))
	genPeriod         = rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-3, 3), rapid.Int64())
	genCountsEncoding = rapid.OneOf(rapid.Just(CountsEncoding{Format: CountsJSON}),
		rapid.Map(rapid.Uint32Range(1, math.MaxInt32), func(id uint32) CountsEncoding {
			return CountsEncoding{CountsAvro, id}
		}))
	genPlanned = rapid.Custom(func(t *rapid.T) budgets.Planned {
		return budgets.Planned{Share: rapid.Float64Range(1e-9, 0.999).Draw(t, "share"),
			Mu2: units.Mu2(rapid.Uint64().Draw(t, "mu2")), Keys: units.Delta(genPrecision.Draw(t, "keys"))}
	})
)

// fields are the generators of the restricted fields of a type.
type fields = map[string]*rapid.Generator[any]

var config = rapid.MakeConfig{
	Kinds: map[reflect.Kind]*rapid.Generator[any]{
		reflect.String:  genText.AsAny(),
		reflect.Float64: rapid.Float64().Filter(finite).AsAny(),
	},
	Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[[]byte]():            genKey.AsAny(),
		reflect.TypeFor[[]int64]():           rapid.SliceOfN(rapid.Int64(), 0, 3).AsAny(),
		reflect.TypeFor[[]units.Precision](): rapid.SliceOfN(genPrecision, 0, 3).AsAny(),
		reflect.TypeFor[[]MetricTally]():     rapid.SliceOfN(rapid.Make[MetricTally](), 0, 3).AsAny(),
		reflect.TypeFor[units.Precision]():   genPrecision.AsAny(),
		reflect.TypeFor[units.Delta]():       genPrecision.AsAny(),
		reflect.TypeFor[accounts.ID]():       genID.AsAny(),
		reflect.TypeFor[CountsEncoding]():    genCountsEncoding.AsAny(),
	},
	Fields: map[reflect.Type]fields{
		reflect.TypeFor[ContribUser](): {"Period": genPeriod.AsAny()},
		reflect.TypeFor[Cut]():         {"Lag": rapid.Int64Range(0, 1<<40).AsAny()},
		reflect.TypeFor[MetricSpec]():  {"PublicKeys": rapid.Map(rapid.SliceOfN(genKey, 0, 8), sortedKeys).AsAny()},
		reflect.TypeFor[Header](): {
			"Zone": rapid.SampledFrom([]string{"", "", "Europe/Zurich", "America/Havana"}).AsAny()},
		reflect.TypeFor[budgets.Budget](): {
			"Planned": rapid.OneOf(rapid.Just(budgets.Planned{}), genPlanned).AsAny()},
		reflect.TypeFor[Release](): {
			"Turn":   rapid.Uint64Range(0, math.MaxInt64).AsAny(),
			"Rungs":  rapid.Uint32Range(1, math.MaxInt32).AsAny(),
			"Metric": genText.Filter(func(s string) bool { return !strings.Contains(s, keySeparator) }).AsAny(),
		},
	},
}

var generators sync.Map // by type

// draw returns a value of a type with the restrictions of config.
func draw[T any](t *rapid.T) T {
	known, ok := generators.Load(reflect.TypeFor[T]())
	if !ok {
		known, _ = generators.LoadOrStore(reflect.TypeFor[T](), rapid.MakeCustom[T](config))
	}
	return known.(*rapid.Generator[T]).Draw(t, "value")
}

func gen32(t *rapid.T) [32]byte { return draw[[32]byte](t) }

func genList[T any](t *rapid.T, most int, gen func(*rapid.T) T) []T {
	return rapid.SliceOfN(rapid.Custom(gen), 0, most).Draw(t, "list")
}

// ascending sorts items and keeps one of equal ones.
func ascending[T any](items []T, compare func(a, b T) int) []T {
	slices.SortFunc(items, compare)
	return slices.CompactFunc(items, func(a, b T) bool { return compare(a, b) == 0 })
}

func sortedKeys(keys [][]byte) [][]byte { return ascending(keys, bytes.Compare) }

func genLabels(t *rapid.T, sorted bool) []Label {
	labels := genList(t, 8, draw[Label])
	if rapid.Bool().Draw(t, "no filters") {
		for i := range labels {
			labels[i].Passes = 0
		}
	}
	if sorted {
		labels = ascending(labels, Label.Compare)
	}
	return labels
}

func genUsers(t *rapid.T, labels int, sorted bool) []ContribUser {
	users := draw[[]ContribUser](t)
	for i := range users {
		u := &users[i]
		if labels == 0 {
			u.Entries, u.Records = nil, nil
		}
		for j := range u.Entries {
			u.Entries[j].Key %= uint32(labels)
		}
		for j := range u.Records {
			u.Records[j].Key %= uint32(labels)
		}
		if sorted {
			u.Entries = ascending(u.Entries, func(a, b KeyCount) int { return cmp.Compare(a.Key, b.Key) })
			u.Records = ascending(u.Records, func(a, b RecordValue) int { return a.compare(&b) })
		}
	}
	if sorted {
		users = ascending(users, func(a, b ContribUser) int { return CompareUsers(&a, &b) })
	}
	return users
}

func genOpenSlice(t *rapid.T) OpenSlice {
	o := OpenSlice{Turn: rapid.Uint64().Draw(t, "turn"), Filtered: draw[[]uint64](t), Labels: genLabels(t, true)}
	o.Users = genUsers(t, len(o.Labels), true)
	return o
}

func genContributions(t *rapid.T) Contributions {
	c := Contributions{Epoch: rapid.Int64().Draw(t, "epoch"), Turn: rapid.Uint64().Draw(t, "turn"),
		Shard: rapid.Uint32().Draw(t, "shard"), Records: rapid.Uint64().Draw(t, "records"), Labels: genLabels(t, false)}
	c.Users = genUsers(t, len(c.Labels), false)
	return c
}

func genHeader(t *rapid.T) Header {
	h := draw[Header](t)
	h.Events.Filters = nil
	for range Filters(h.Metrics) {
		h.Events.Filters = append(h.Events.Filters, genText.Draw(t, "fields"))
	}
	return h
}

func genSettled(t *rapid.T) Settled {
	s := draw[Settled](t)
	s.Part, s.Parts, s.Digest = 0, 0, [32]byte{}
	return s
}

// body draws a control record's body that its format does not restrict.
func body[T any, P interface {
	*T
	ControlBody
}](t *rapid.T) ControlBody {
	v := draw[T](t)
	return P(&v)
}

var genBody = []func(*rapid.T) ControlBody{
	body[Epoch], body[Stop], body[Run], body[Forget], body[Recover], body[Lost], body[Drain],
	func(t *rapid.T) ControlBody {
		h := genHeader(t)
		return &h
	},
	func(t *rapid.T) ControlBody {
		g := &Generation{Epoch: rapid.Int64().Draw(t, "epoch"), CountsEnd: draw[[]int64](t), Header: genHeader(t)}
		g.Header.Generation = 2 + g.Header.Generation>>1
		g.Header.FromTurn = max(g.Header.FromTurn, 1)
		g.Header.Past = append(g.Header.Past, PastGeneration{})
		return g
	},
	func(t *rapid.T) ControlBody {
		c := draw[Close](t)
		for i := range c.Cuts {
			c.Cuts[i].Partition = int32(3 * i)
		}
		return &c
	},
	func(t *rapid.T) ControlBody {
		s := draw[Settled](t)
		s.Part, s.Parts = 0, 1
		return &s
	},
	func(t *rapid.T) ControlBody {
		r := draw[Reader](t)
		r.Groups = rapid.Uint32Range(2, MaxGroups).Draw(t, "groups")
		r.Group = 1 + r.Group%(r.Groups-1)
		return &r
	},
	func(t *rapid.T) ControlBody {
		e := draw[End](t)
		if e.Tallies.Read == 0 {
			e.Tallies = ReadTallies{}
		}
		return &e
	},
	func(t *rapid.T) ControlBody { return genPassed(t) },
}

func genControl(t *rapid.T) Control {
	return Control{Back: rapid.Int64().Draw(t, "back"), BackEpoch: rapid.Int64().Draw(t, "back epoch"),
		Generation: rapid.Int64().Draw(t, "generation"), Body: rapid.SampledFrom(genBody).Draw(t, "kind")(t)}
}

func genPassed(t *rapid.T) *Passed {
	p := draw[Passed](t)
	if p.Group %= MaxGroups; p.Group == 0 {
		return &Passed{Epoch: p.Epoch, Redo: p.Redo}
	}
	p.Redo = 0
	last := uint64(0)
	next := func() uint64 {
		last += rapid.Uint64Range(1, 1<<40).Draw(t, "turns on")
		return last
	}
	for i := range p.Each {
		p.Each[i].Turn = next()
	}
	p.Turn = last
	for i := range p.Cuts {
		g := &p.Cuts[i]
		g.Partition = int32(3 * i)
		g.Cut.Cut = rapid.Int64Range(1, math.MaxInt64).Draw(t, "cut")
		g.Restart = rapid.Int64Range(0, g.Cut.Cut).Draw(t, "restart")
		last = 0
		for j := range g.Marks {
			g.Marks[j].Turn, g.Marks[j].Offset = next(), rapid.Int64Range(0, g.Cut.Cut-1).Draw(t, "mark")
		}
		p.Turn = max(p.Turn, last)
	}
	p.Turn = rapid.OneOf(rapid.Just(uint64(math.MaxUint64)), rapid.Uint64Range(p.Turn, 1<<50)).Draw(t, "turn")
	return &p
}

func genDelta(t *rapid.T) Delta {
	d := Delta{Turn: rapid.Uint64().Draw(t, "turn"), Epoch: rapid.Int64().Draw(t, "epoch"),
		Records: rapid.Uint64().Draw(t, "records"), Windows: genList(t, 11, draw[MetricWindow]),
		Filtered: draw[[]uint64](t), Labels: genLabels(t, true)}
	for range d.Windows {
		d.Tallies = append(d.Tallies, draw[WindowTally](t))
	}
	for _, u := range genUsers(t, len(d.Labels), true) {
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
	for _, u := range genUsers(t, 0, true) {
		e := accounts.Entry{ID: u.ID, Period: u.Period}
		e.Account.Spent = units.Mu2(rapid.Uint64Range(1, math.MaxUint64).Draw(t, "spent"))
		if rapid.Bool().Draw(t, "debts") {
			e.Debts = []units.Mu2{units.Mu2(rapid.Uint64().Draw(t, "debt")), 1}
		}
		s.Accounts = append(s.Accounts, e)
	}
	s.Forgotten = ascending(draw[[]ForgottenMark](t), ForgottenMark.Compare)
	turn := uint64(0)
	for range rapid.IntRange(0, 3).Draw(t, "slices") {
		turn += rapid.Uint64Range(1, 1000).Draw(t, "step")
		o := genOpenSlice(t)
		o.Turn = turn
		b, err := EncodeOpenSlice(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Open = append(s.Open, b)
	}
	return s
}
