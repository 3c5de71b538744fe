package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// recordReading is how a deployment reads its events, and how a producer writes records of that
// layout.
type recordReading struct {
	events deployment.Events
	write  func(t *rapid.T) []byte
}

// schemasOf is every registry, each with different schemas.
type schemasOf string

func (s schemasOf) Schema(_ context.Context, id uint32) (string, error) {
	fields := []string{"u", "k", "t", "v", "w"}
	turn := int(id) + len(s) // a registry with a longer address has others under the same ids
	slices.Reverse(fields[:1+turn%len(fields)])
	return avroSchema(fields, turn), nil
}

func avroSchema(fields []string, variant int) string {
	var all []string
	for _, name := range fields {
		typ := `"string"`
		switch {
		case name == "t":
			typ = `{"type":"long","logicalType":"timestamp-millis"}`
		case name == "v":
			typ = []string{`"int"`, `"double"`, `["float","int","double"]`, `["null","float"]`,
				`["int","long"]`}[variant%5]
		case variant%3 == 1 && name != "w":
			typ = `["null","string"]`
		case variant%4 == 2 && name == "k":
			typ = `{"type":"enum","name":"e","symbols":["a","b","c"]}`
		}
		all = append(all, fmt.Sprintf(`{"name":%q,"type":%s}`, name, typ))
	}
	return fmt.Sprintf(`{"type":"record","name":"r%d","doc":"%d","fields":[%s]}`, variant, variant,
		strings.Join(all, ","))
}

// avroBytes writes strings of one or two letters, small numbers, and branches: bytes of one layout
// are often valid in another.
func avroBytes(t *rapid.T, fields int) []byte {
	var b []byte
	for range fields + rapid.IntRange(0, 1).Draw(t, "more") {
		b = append(b, rapid.SampledFrom([]string{"\x02a", "\x02b", "\x00", "\x02", "\x04bb", "\x02\x02", "\x02\x02a",
			"\x02\x02b", "\x00\x00\xc0\x3f", "\x02\x00\x00\xc0\x3f", "\x00\x00\x00\x00\x00\x00\xf8\x3f",
			"\x04\x00\x00\x00\x00\x00\x00\xf8\x3f"}).Draw(t, "part")...)
	}
	return b
}

func genReading(t *rapid.T) recordReading {
	f := event.Format{User: "u", Key: "k", Time: "t", Value: "v", TimeUnit: rapid.SampledFrom([]string{"s",
		"ms"}).Draw(t, "unit"),
		MaxRecordBytes: rapid.SampledFrom([]int{0, 0, 1 << 20, 40}).Draw(t, "bytes"),
		Format:         rapid.SampledFrom([]string{"csv", "tsv", "jsonl", "avro"}).Draw(t, "format")}
	f.Decimals = rapid.IntRange(0, 2).Draw(t, "decimals")
	names := rapid.Permutation([]string{"u", "k", "t", "v", "w"}).Draw(t, "order")
	if rapid.Bool().Draw(t, "plain") {
		names = []string{"u", "k", "t", "v", "w"}
	}
	names = append(names, []string{"x", "y"}[:rapid.IntRange(1, 2).Draw(t, "unused")]...)
	r := recordReading{events: deployment.Events{Topic: "events", Format: f}}
	swap := rapid.IntRange(0, 4).Draw(t, "swap")
	if swap == 0 {
		r.events.Format.User, r.events.Format.Key = "k", "u"
	}
	text := func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"1", "2", "3.25", `a`, `"1"`, "1.0", "0.5"}).Draw(t, "text")
	}
	switch f.Format {
	case "csv", "tsv":
		r.events.Format.Columns = names
		comma := map[string]string{"csv": ",", "tsv": "\t"}[f.Format]
		if rapid.IntRange(0, 3).Draw(t, "one column") == 0 {
			comma = "," // one column of tsv
		}
		r.write = func(t *rapid.T) []byte {
			var row []string
			for range names {
				row = append(row, text(t))
			}
			return []byte(strings.Join(row, comma))
		}
	case "jsonl":
		if rapid.IntRange(0, 3).Draw(t, "nested") == 0 {
			r.events.Format.User = "o.u"
		}
		r.write = func(t *rapid.T) []byte {
			var members []string
			for _, name := range append(names, `u`, `o`) {
				value := rapid.SampledFrom([]string{"1", "2", `"1"`, `"7"`, "1.5", "2.25", "1e0"}).Draw(t, "value")
				if name == "o" {
					value = `{"u":` + value + `}`
				}
				members = append(members, fmt.Sprintf("%q:%s", name, value))
			}
			return []byte("{" + strings.Join(members, ",") + "}")
		}
	default:
		r.events.Format.TimeUnit = ""
		if rapid.Bool().Draw(t, "registry") {
			r.events.Registry = &deployment.Registry{URL: "http://" + strings.Repeat("r", rapid.IntRange(1, 2).Draw(t,
				"host"))}
			r.write = func(t *rapid.T) []byte {
				b := binary.BigEndian.AppendUint32([]byte{0}, rapid.Uint32Range(0, 3).Draw(t, "id"))
				return append(b, avroBytes(t, 5)...)
			}
			break
		}
		r.events.Format.Schema = avroSchema(names, rapid.IntRange(0, 5).Draw(t, "variant"))
		r.write = func(t *rapid.T) []byte { return avroBytes(t, len(names)) }
	}
	return r
}

// moveOthers moves the key, the time, the value or a filter's field.
func (r *recordReading) moveOthers(t *rapid.T) {
	f := &r.events.Format
	if rapid.Bool().Draw(t, "other decimals") {
		f.Decimals = rapid.IntRange(0, 2).Draw(t, "decimals")
	}
	move := rapid.IntRange(0, 6).Draw(t, "move")
	switch {
	case move == 0:
		f.Key = "w"
	case move == 1:
		f.Value = "w"
	case move == 2 && f.TimeUnit != "":
		f.TimeUnit = map[string]string{"s": "ms", "ms": "s"}[f.TimeUnit]
	case slices.Contains(f.Columns, "x"): // w, a filter's field, changes places with an unread field
		f.Columns = slices.Clone(f.Columns)
		w, x := slices.Index(f.Columns, "w"), slices.Index(f.Columns, "x")
		f.Columns[w], f.Columns[x] = "x", "w"
	}
}

func compiled(t rapid.TB, events deployment.Events, others bool) *deployment.Deployment {
	cfg := deploytest.Config("localhost:1")
	cfg.Events = events
	filtered, sum := cfg.Metrics[0], cfg.Metrics[0]
	filtered.Name, filtered.Filter = "filtered", `w == 1 or w == "b" or w == "a" or (k ?? 1) == 2`
	sum.Name, sum.Kind, sum.Max = "sum", metrickind.Sum, 9
	cfg.Metrics = append(cfg.Metrics, filtered, sum)
	for i := range cfg.Metrics {
		if others {
			cfg.Metrics[i].Name += "-2"
		}
	}
	d, err := deployment.Compile(cfg)
	if err != nil {
		t.Skip(err) // an enum is not a user
	}
	return d
}

func decodeAll(d *deployment.Deployment, t rapid.TB, records [][]byte) (events []*event.Event, faults []string) {
	var options []event.Option
	if g := d.Config.Events.Registry; g != nil {
		options = append(options, event.WithSchemas(context.Background(), schemasOf(g.URL)))
	}
	decoder := must.Have(event.NewDecoder(d.Config.Events.Format, options...))
	for _, r := range records {
		var e event.Event
		if err := decoder.Decode(r, &e); err != nil {
			events, faults = append(events, nil), append(faults, err.Error())
			continue
		}
		e.User, e.Key = slices.Clone(e.User), slices.Clone(e.Key)
		events, faults = append(events, &e), append(faults, "")
	}
	return events, faults
}

// Two configurations of any formats. If a restart accepts the second, it decodes every record to
// the same event or the same class. If a change accepts it, it decodes no record to another user,
// and for a metric that keeps its name to no other key, time or value, and its filter passes the
// same records.
func TestRuleNoRestartAndNoChangeReadsARecordAsSomebodyElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := genReading(t)
		g := f
		switch rapid.IntRange(0, 8).Draw(t, "alike") {
		case 0:
		case 1:
			g.events.Format.User, g.events.Format.Key = f.events.Format.Key, f.events.Format.User
		case 2, 3:
			g.events.Format.MaxRecordBytes = 1 << 21
		case 4, 5, 6: // the user stays in place
			g.moveOthers(t)
		default:
			g = genReading(t)
		}
		others := rapid.Bool().Draw(t, "new names")
		var records [][]byte
		for range 40 {
			records = append(records, f.write(t), g.write(t))
		}
		decodeBoth(t, f.events, g.events, others, records)
	})
	plain := deployment.Events{Topic: "events", Format: event.Format{
		Format: "csv", Columns: strings.Split("u,k,t,v,w", ","), User: "u", Key: "k", Time: "t", Value: "v",
		TimeUnit: "ms"}}
	for name, c := range map[string]struct {
		edit   func(*event.Format)
		others bool
		want   tallied
	}{
		"nothing":        {func(*event.Format) {}, false, tallied{same: 2}},
		"longer records": {func(f *event.Format) { f.MaxRecordBytes = 1 << 21 }, false, tallied{changed: 2}},
		"decimals":       {func(f *event.Format) { f.Decimals = 2 }, true, tallied{renamed: 2}},
		"another key":    {func(f *event.Format) { f.Key = "w" }, true, tallied{renamed: 2}},
		"another user":   {func(f *event.Format) { f.User, f.Key = "k", "u" }, true, tallied{refused: 1}},
	} {
		edited := plain
		c.edit(&edited.Format)
		if got := decodeBoth(t, plain, edited, c.others, [][]byte{[]byte("1,2,3,4,5"), []byte("1,1,3,4,5"),
			[]byte("1")}); got != c.want {
			t.Errorf("%s: decoded %+v, want %+v", name, got, c.want)
		}
	}
}

// tallied has how many records were read after a restart, after a change, after a change with new
// metrics, and how many would have been another user's.
type tallied struct{ same, changed, renamed, refused int }

// decodeBoth decodes records with two configurations, and checks the results against the rules of
// restarts and changes.
func decodeBoth(t rapid.TB, from, to deployment.Events, others bool, records [][]byte) (n tallied) {
	t.Helper()
	before, after := compiled(t, from, false), compiled(t, to, others)
	was, wasFault := decodeAll(before, t, records)
	is, isFault := decodeAll(after, t, records)
	h, want := changes.Header(before), changes.Header(after)
	all := changes.Differences(&h, &want)
	mayRestart, mayChange := len(all) == 0, len(all) == 0 || all[0].Never == ""
	for i := range records {
		switch {
		case mayRestart && (wasFault[i] != isFault[i] || !reflect.DeepEqual(was[i], is[i])):
			t.Fatalf("a restart is accepted, and %q is %v %s and then %v %s", records[i], was[i], wasFault[i], is[i],
				isFault[i])
		case was[i] == nil || is[i] == nil:
		case mayRestart:
			n.same++
		case mayChange && string(was[i].User) != string(is[i].User):
			t.Fatalf("a change is accepted (%v), and %q is of user %q and then of %q", all, records[i], was[i].User,
				is[i].User)
		case mayChange && !others:
			n.changed++
			if !reflect.DeepEqual(was[i], is[i]) {
				t.Fatalf("a change keeps its metrics (%v), and %q is %v and then %v", all, records[i], was[i], is[i])
			}
		case mayChange:
			n.renamed++
		case string(was[i].User) != string(is[i].User):
			n.refused++
		}
	}
	return n
}

// The changes that operators need are possible, and changes that cannot be checked are refused.
func TestRuleWhatDecidesWhoAUserIsNeverChanges(t *testing.T) {
	t.Parallel()
	const restart, change, rename, never = "restart", "change", "new name", "never"
	csv := func(columns string, edit ...func(*deployment.Events)) deployment.Events {
		e := deployment.Events{Topic: "events", Format: event.Format{Format: "csv", Columns: strings.Split(columns,
			" "), User: "u", Key: "k", Time: "t", TimeUnit: "ms"}}
		for _, f := range edit {
			f(&e)
		}
		return e
	}
	avro := func(schema, url string) deployment.Events {
		e := deployment.Events{Topic: "events", Format: event.Format{Format: "avro", Schema: schema, User: "u",
			Key: "k", Time: "t"}}
		if url != "" {
			e.Registry = &deployment.Registry{URL: url}
		}
		return e
	}
	record := func(fields string) string { return `{"type":"record","name":"e","fields":[` + fields + `]}` }
	const u, k, time = `{"name":"u","type":"string"},`, `{"name":"k","type":"string"},`,
		`{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}}`
	plain := csv("u k t w")
	bare := avro(record(u+k+time), "")
	lines := deployment.Events{Topic: "events", Format: event.Format{Format: "jsonl", User: "u", Key: "k", Time: "t",
		TimeUnit: "ms"}}
	path := func(user string) deployment.Events { e := lines; e.Format.User = user; return e }
	for name, c := range map[string]struct {
		from, to deployment.Events
		want     string
	}{
		"two columns swapped":        {plain, csv("k u t w"), never},
		"a column before the user's": {plain, csv("x u k t w"), never},
		"a column at the end":        {plain, csv("u k t w x"), change},
		"a column after the user's":  {plain, csv("u x k t w"), rename},
		"another name, the same column": {plain, csv("who what t w", func(e *deployment.Events) {
			e.Format.User, e.Format.Key = "who", "what"
		}), restart},
		"another name of a column not read": {plain, csv("u k t x"), restart},
		"tabs": {plain, csv("u k t w", func(e *deployment.Events) {
			e.Format.Format = "tsv"
		}), never},
		"another unit": {plain, csv("u k t w", func(e *deployment.Events) {
			e.Format.TimeUnit = "s"
		}), rename},
		"no key": {plain, csv("u k t w", func(e *deployment.Events) { e.Format.Key = "" }),
			rename},
		"the default in figures": {plain, csv("u k t w", func(e *deployment.Events) {
			e.Format.MaxRecordBytes = 1 << 20
		}), restart},
		"longer records": {plain, csv("u k t w", func(e *deployment.Events) {
			e.Format.MaxRecordBytes = 1 << 21
		}), change},
		"a value": {plain, csv("u k t w", func(e *deployment.Events) {
			e.Format.Value = "w"
		}), change},
		"rows to objects": {plain, lines, never},
		"another path":    {lines, path("o.u"), never},
		"a dot in a name": {path("o.u"), path(`o\.u`), never},
		"documentation": {bare, avro(`{"type":"record","name":"f","doc":"x","fields":[`+
			strings.Replace(u, `}`, `,"default":"x"}`, 1)+k+time+`]}`, ""), restart},
		"fields swapped":            {bare, avro(record(k+u+time), ""), never},
		"a field at the end":        {bare, avro(record(u+k+time+`,{"name":"x","type":"int"}`), ""), change},
		"a field before the user's": {bare, avro(record(`{"name":"x","type":"int"},`+u+k+time), ""), never},
		"a user who may be null": {bare, avro(record(`{"name":"u","type":["null","string"]},`+k+time), ""),
			never},
		"a fixed and a uuid": {avro(record(`{"name":"u","type":{"type":"fixed","name":"f","size":16}},`+
			k+time), ""), avro(record(`{"name":"u","type":{"type":"fixed","name":"f","size":16,"logicalType":"uuid"}},`+
			k+
			time), ""), never},
		"other symbols": {avro(record(u+`{"name":"k","type":{"type":"enum","name":"f",`+
			`"symbols":["a","b"]}},`+time), ""),
			avro(record(u+`{"name":"k","type":{"type":"enum","name":"f","symbols":["b","a"]}},`+time), ""), rename},
		"a schema for a registry":   {bare, avro("", "http://a:8081"), never},
		"another registry":          {avro("", "http://a:8081"), avro("", "http://b:8081"), never},
		"the same one, over TLS":    {avro("", "http://A:8081/"), avro("", "https://a:8081"), restart},
		"its usual port in figures": {avro("", "https://a"), avro("", "https://a:443"), restart},
		"another path of its":       {avro("", "http://a:8081/x"), avro("", "http://a:8081/y"), never},
	} {
		deploy := func(e deployment.Events, metric string) schemas.Header {
			cfg := deploytest.Config("localhost:1")
			cfg.Events, cfg.Metrics[0].Name = e, metric
			d, err := deployment.Compile(cfg)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return changes.Header(d)
		}
		h, kept, other := deploy(c.from, "views"), deploy(c.to, "views"), deploy(c.to, "views-2")
		got := never
		switch all, anew := changes.Differences(&h, &kept), changes.Differences(&h, &other); {
		case len(all) == 0:
			got = restart
		case all[0].Never == "":
			got = change
		case anew[0].Never == "":
			got = rename
		}
		if got != c.want {
			t.Errorf("%s takes effect by %q (%v), want %q", name, got, changes.Differences(&h, &kept), c.want)
		}
	}
}
