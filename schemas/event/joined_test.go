package event

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Different parts give different keys, whatever is in them, and the key gives the parts again: two
// groups of events never share a count.
func TestRuleDifferentPartsAreDifferentKeys(t *testing.T) {
	part := rapid.StringOf(rapid.SampledFrom([]rune(`|\ab,"é` + "\n")))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, MaxKeyParts).Draw(t, "n")
		parts := rapid.SliceOfN(part, n, n).Draw(t, "parts")
		f := Format{Format: CSV, Columns: []string{"a", "b", "c", "d", "user", "t"}, User: "user", Time: "t",
			TimeUnit: "s", Key: "a", MoreKeys: []string{"b", "c", "d"}[:n-1]}
		var row bytes.Buffer
		w := csv.NewWriter(&row)
		if err := w.Write(append(append(slices.Clone(parts), make([]string, 4-n)...), "u", "1")); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		d, err := NewDecoder(f)
		if err != nil {
			t.Fatal(err)
		}
		var e Event
		if err := d.Decode(row.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		key := string(e.Key)
		if joined := JoinKey(parts...); key != joined {
			t.Fatalf("the decoder says %q, JoinKey %q", key, joined)
		}
		if back, err := SplitKey(key); err != nil || !slices.Equal(back, parts) {
			t.Fatalf("%q of %q gives %q, %v", key, parts, back, err)
		}
		other := rapid.SliceOfN(part, n, n).Draw(t, "other")
		if same := JoinKey(other...) == key; same != slices.Equal(other, parts) {
			t.Fatalf("%q and %q are both %q", parts, other, key)
		}
	})
}

func FuzzSplitKey(f *testing.F) {
	for _, key := range []string{`a\|b|c`, `\\|`, `a\`, `a\b|c`, `\`, "é|"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if parts, err := SplitKey(key); err == nil && JoinKey(parts...) != key {
			t.Errorf("%q is %q, which is %q", key, parts, JoinKey(parts...))
		}
	})
}

// A broken part is a dead letter, in every format, and the key as a whole has the bound of a key.
func TestABrokenPartOfAKeyHasItsClass(t *testing.T) {
	long := strings.Repeat("x", schemas.MaxKeyBytes/2)
	rows := Format{Format: TSV, Columns: []string{"t", "user", "a", "b"}, User: "user", Time: "t", TimeUnit: "s",
		Key: "a", MoreKeys: []string{"b"}}
	objects := Format{Format: JSONL, User: "user", Time: "t", TimeUnit: "s", Key: "a", MoreKeys: []string{"b.c"}}
	for _, c := range []struct {
		f           Format
		text, class string
		key         string
	}{
		{rows, "1\tu\tx\ty", "", "x|y"}, {rows, "1\tu\tx\t\xff", ClassBadKey, ""}, {rows, "1\tu\tx", ClassMissingField,
			""},
		{rows, "1\tu\t" + long + "\t" + long[1:], "", long + "|" + long[1:]}, {rows, "1\tu\t" + long + "\t" + long,
			ClassKeyTooLong, ""},
		{rows, "1\tu\t" + strings.Repeat("|", 257) + "\t", ClassKeyTooLong, ""},
		{objects, `{"user":"u","t":1,"a":7,"b":{"c":true}}`, "", "7|true"},
		{objects, `{"user":"u","t":1,"a":"x\u007c","b":{"c":"\u00e9"}}`, "", `x\||é`},
		{objects, `{"user":"u","t":1,"a":"x"}`, ClassMissingField, ""},
		{objects, `{"user":"u","t":1,"a":"x","b":{"c":null}}`, ClassNullField, ""},
		{objects, `{"user":"u","t":1,"a":"x","b":{"c":[]}}`, ClassWrongType, ""},
		{objects, `{"user":"u","t":1,"a":"x","b":{"c":"\ud800"}}`, ClassBadKey, ""},
	} {
		var e Event
		err := newDecoder(t, c.f).Decode([]byte(c.text), &e)
		if got := classOf(t, err); got != c.class || string(e.Key) != c.key {
			t.Errorf("%.60s: %.40q, %v, want %q", c.text, e.Key, err, c.class)
		}
	}
	avro := Format{Format: Avro, Schema: `{"type":"record","name":"V","fields":[{"name":"u","type":"string"},` +
		`{"name":"b","type":{"type":"enum","name":"E","symbols":["X"]}},{"name":"a","type":["null","int"]},` +
		`{"name":"t","type":"long"}]}`,
		User: "u", Key: "a", MoreKeys: []string{"b"}, Time: "t", TimeUnit: "s"}
	d := newDecoder(t, avro)
	var e Event
	if err := d.Decode([]byte("\x02u\x00\x02\x0e\x02"), &e); err != nil || string(e.Key) != "7|X" {
		t.Errorf("avro: %q, %v", e.Key, err)
	}
	if err := d.Decode([]byte("\x02u\x00\x00\x02"), &e); classOf(t, err) != ClassNullField {
		t.Errorf("avro: %v", err)
	}
	one, two := rows, rows
	one.MoreKeys = nil
	a, _ := one.Identity("")
	if b, err := two.Identity(""); err != nil || a.Key == b.Key || b.Key != "key of column 3 of tsv and column 4 "+
		"of tsv" {
		t.Errorf("identities %q and %q, %v", a.Key, b.Key, err)
	}
	for _, wrong := range [][]string{{"a"}, {""}, {"b", "b"}, {"b", "t", "user", "a"}, {"nowhere"}} {
		rows.MoreKeys = wrong
		if err := rows.Check(); err == nil || !strings.Contains(err.Error(), "key: ") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// The fields of a time are read as one text, in every format; without one of them there is no time.
func TestATimeOfSeveralFieldsIsOneText(t *testing.T) {
	rows := Format{Format: CSV, Columns: []string{"user", "day", "clock"}, User: "user", Time: "day",
		MoreTimes: []string{"clock"}, TimeUnit: TimeText, TimeZone: "Europe/Zurich"}
	us, objects, avro := rows, rows, rows
	us.TimeLayout = "%m/%d/%Y %I:%M %p"
	objects.Format, objects.Columns, objects.MoreTimes = JSONL, nil, []string{"at.clock"}
	avro.Format, avro.Columns = Avro, nil
	avro.Schema = `{"type":"record","name":"V","fields":[{"name":"clock","type":["null","string"]},{"name":"user",` +
		`"type":"string"},{"name":"day","type":"string"}]}`
	const want = 1740985651000 // 2025-03-03T07:07:31Z
	for _, c := range []struct {
		f      Format
		record string
		class  string
		millis int64
	}{
		{rows, "u,2025-03-03,08:07:31", "", want}, {rows, "u,3.3.2025, 8:07:31 ", "", want}, {us, "u,3/3/2025,8:07 am",
			"", want - 31000},
		{rows, "u,2025-03-03,", ClassBadTimestamp, 0}, {rows, "u,,08:07:31", ClassBadTimestamp, 0},
		{rows, "u,2025-03-03,x", ClassBadTimestamp, 0},
		{objects, `{"at":{"clock":"08:07:31"},"user":"u","day":20250303}`, "", want},
		{objects, `{"user":"u","day":"2025-03-03","at":{}}`, ClassMissingField, 0},
		{objects, `{"user":"u","day":"2025-03-03","at":{"clock":true}}`, ClassWrongType, 0},
		{avro, "\x02\x1008:07:31\x02u\x142025-03-03", "", want}, {avro, "\x00\x02u\x142025-03-03", ClassNullField, 0},
	} {
		var e Event
		if err := newDecoder(t, c.f).Decode([]byte(c.record), &e); classOf(t, err) != c.class || e.Millis != c.millis {
			t.Errorf("%s: %d, %v, want %d %s", c.record, e.Millis, err, c.millis, c.class)
		}
	}
	if id, err := rows.Identity(""); err != nil || id.Time != `time of column 2 of csv in "text" at "Europe/Zurich" `+
		`and column 3 of csv` {
		t.Errorf("identity %q, %v", id.Time, err)
	}
	seconds := rows
	seconds.TimeUnit, seconds.TimeZone = "s", ""
	twice := rows
	twice.MoreTimes = []string{"day"}
	for _, wrong := range []Format{seconds, twice} {
		if err := wrong.Check(); err == nil || !strings.Contains(err.Error(), "time: ") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

var escapesOfKeys = strings.NewReplacer(`\`, `\\`, `|`, `\|`)

// JoinKey returns the key that SplitKey takes apart.
func JoinKey(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = escapesOfKeys.Replace(part)
	}
	return strings.Join(escaped, string(keySeparator))
}
