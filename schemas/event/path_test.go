package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

func TestPathsAreSplitAtDots(t *testing.T) {
	for text, want := range map[string][]string{
		"a": {"a"}, "a.b.c": {"a", "b", "c"}, `a\.b.c`: {"a.b", "c"}, `a\\.b`: {`a\`, "b"}, "a b": {"a b"}, "é.é": {"é", "é"},
	} {
		if got, err := parsePath(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", "a.", ".a", "a..b", `a\`, `a\b`} {
		if got, err := parsePath(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
		f := jsonFormat("s")
		f.Key = text
		var bad *FormatError
		if err := f.Check(); text != "" && (!errors.As(err, &bad) || bad.Field != "key") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFieldsWithinRecordsAndValues(t *testing.T) {
	for _, c := range []struct {
		name, value, class, field string
		want                      int64
	}{
		{"good", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":5}`, "", "", 5},
		{"fields of equal names elsewhere", `{"id":"x","user":{"id":"y"},"ctx":{"id":"z","user":{"id":"u"}},"a":{"b":1},"a.b":"k","t":1,"n":-5}`, "", "", -5},
		{"integer with a fraction of zeros", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":5.00}`, "", "", 5},
		{"integer with an exponent", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":-1.2e2}`, "", "", -120},
		{"zero", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":-0.0e99}`, "", "", 0},
		{"least", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":-9223372036854775808}`, "", "", -1 << 63},
		{"greatest", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":922337203685477580.7e1}`, "", "", 1<<63 - 1},
		{"last of two records", `{"ctx":{"user":{"id":"x"}},"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":1}`, "", "", 1},
		{"last of two records lacks it", `{"ctx":{"user":{"id":"x"}},"ctx":{"user":{}},"a.b":"k","t":1,"n":1}`, ClassMissingField, "user", 0},
		{"last of two is null", `{"ctx":{"user":{"id":"x"}},"ctx":null,"a.b":"k","t":1,"n":1}`, ClassNullField, "user", 0},
		{"no record", `{"a.b":"k","t":1,"n":1}`, ClassMissingField, "user", 0},
		{"string for a record", `{"ctx":{"user":"u"},"a.b":"k","t":1,"n":1}`, ClassWrongType, "user", 0},
		{"list for a record", `{"ctx":{"user":[{"id":"u"}]},"a.b":"k","t":1,"n":1}`, ClassWrongType, "user", 0},
		{"null for a record", `{"ctx":{"user":null},"a.b":"k","t":1,"n":1}`, ClassNullField, "user", 0},
		{"broken within", `{"ctx":{"user":{"id":"u",}},"a.b":"k","t":1,"n":1}`, ClassUndecodable, "", 0},
		{"no value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1}`, ClassMissingField, "value", 0},
		{"null value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":null}`, ClassNullField, "value", 0},
		{"fractional value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":5.5}`, ClassWrongType, "value", 0},
		{"tiny value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":1e-3}`, ClassWrongType, "value", 0},
		{"value beyond 64 bits", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":9223372036854775808}`, ClassWrongType, "value", 0},
		{"huge value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":1e999999999999}`, ClassWrongType, "value", 0},
		{"string value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":"5"}`, ClassWrongType, "value", 0},
		{"boolean value", `{"ctx":{"user":{"id":"u"}},"a.b":"k","t":1,"n":true}`, ClassWrongType, "value", 0},
	} {
		d := newDecoder(t, Format{Format: "jsonl", User: "ctx.user.id", Key: `a\.b`, Time: "t", TimeUnit: "s", Value: "n"})
		var ev Event
		err := d.Decode([]byte(c.value), &ev)
		var bad *Error
		if errors.As(err, &bad); classOf(t, err) != c.class || bad != nil && bad.Field != c.field {
			t.Errorf("%s: %v, want %s of %q", c.name, err, c.class, c.field)
		}
		if err == nil && (string(ev.User) != "u" || string(ev.Key) != "k" || ev.Value != c.want) {
			t.Errorf("%s: %+v", c.name, ev)
		}
	}
}

func TestValuesInColumns(t *testing.T) {
	for value, want := range map[string]string{"5": "", "-5": "", "0": "", "-0": "", "9223372036854775807": "", "-9223372036854775808": "",
		"9223372036854775808": ClassWrongType, "5.0": ClassWrongType, "5e0": ClassWrongType, "": ClassWrongType, "-": ClassWrongType,
		"+5": ClassWrongType, "05": ClassWrongType, " 5": ClassWrongType, "x": ClassWrongType, "99999999999999999999999": ClassWrongType} {
		f := rowFormat("tsv", "s")
		f.Value = "other"
		var ev Event
		if got := classOf(t, newDecoder(t, f).Decode([]byte("1\tu\t"+value+"\tp\ty"), &ev)); got != want {
			t.Errorf("%q: class %q, want %q", value, got, want)
		}
	}
	f := rowFormat("csv", "s")
	f.Value = "last"
	if got := classOf(t, newDecoder(t, f).Decode([]byte("1,u,x,p"), new(Event))); got != ClassMissingField {
		t.Errorf("row too short for the value: %q", got)
	}
}

// lookUp finds a member by encoding/json.
func lookUp(raw json.RawMessage, path []string) (json.RawMessage, string) {
	for _, name := range path {
		if raw[0] == 'n' {
			return nil, ClassNullField
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil, ClassWrongType
		}
		var ok bool
		if raw, ok = members[name]; !ok {
			return nil, ClassMissingField
		}
	}
	return raw, ""
}

// Members of members are found as by encoding/json, and values are what rational numbers say. Every
// tenth object has a whole number where it is looked for, of the others one in 700. A fifth of the
// objects have another value there and two fifths have none: fewer than 1 of 500 are not once in
// 10⁹ runs.
func TestRandomPathsAreReadAsByEncodingJSON(t *testing.T) {
	n := 60000
	if testing.Short() {
		n = 6000
	}
	rng := rand.New(runseed.PCG(t, 13, 17))
	d := newDecoder(t, Format{Format: "jsonl", User: "user", Time: "t", TimeUnit: "s", Value: "x.x"})
	counts := map[string]int{}
	for i := range n {
		var b strings.Builder
		if jsonText(rng, &b, 0); i%10 == 0 {
			b.Reset()
			fmt.Fprintf(&b, `{"user":"a","t":1,"x":{"x":%d}}`, rng.Int64()>>rng.IntN(64))
		}
		value := []byte(b.String())
		if !json.Valid(value) || !utf8.Valid(value) {
			continue
		}
		var ev Event
		err := d.Decode(value, &ev)
		var bad *Error
		if errors.As(err, &bad) && bad.Field != "value" {
			continue // compared elsewhere
		}
		raw, class := lookUp(value, []string{"x", "x"})
		var want *big.Rat
		if class == "" {
			switch c := raw[0]; {
			case c == 'n':
				class = ClassNullField
			case c == '-' || c >= '0' && c <= '9':
				if want, _ = new(big.Rat).SetString(string(raw)); want == nil || !want.IsInt() || !want.Num().IsInt64() {
					class = ClassWrongType
				}
			default:
				class = ClassWrongType
			}
		}
		if got := classOf(t, err); got != class && bad != nil || bad == nil && (class != "" || ev.Value != want.Num().Int64()) {
			t.Fatalf("%s: class %q, value %d, want %q, %v", value, got, ev.Value, class, want)
		}
		counts[class]++
	}
	t.Log(counts)
	if counts[""] < n/10 || counts[ClassWrongType] < n/500 || counts[ClassMissingField] < n/500 {
		t.Error("too few of a kind for the comparison to say much")
	}
}
