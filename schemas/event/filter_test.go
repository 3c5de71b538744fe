package event

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/schemas/event/filter"
)

// passing decodes one record with one filter.
func passing(t *testing.T, f Format, filter, value string) bool {
	t.Helper()
	f.Filters = []string{filter}
	var ev Event
	if err := newDecoder(t, f).Decode([]byte(value), &ev); err != nil {
		t.Fatal(err)
	}
	return ev.Passes == 1
}

func TestWhatPassesAFilter(t *testing.T) {
	const rest = `"user":"u","page":"p","t":1`
	for _, c := range []struct {
		filter, members string
		want            bool
	}{
		// Comparisons, and that types differ.
		{`x == 5`, `"x":5`, true}, {`x == 5`, `"x":5.0`, true}, {`x == 5`, `"x":"5"`, false}, {`x != 5`, `"x":"5"`,
			true},
		{`x == "5"`, `"x":5`, false}, {`x > 4`, `"x":5`, true}, {`x > 4`, `"x":"5"`, false}, {`x < 4`, `"x":"5"`,
			false},
		{`x >= 4.5`, `"x":4.5`, true}, {`x < 1e3`, `"x":-7`, true}, {`x > "a"`, `"x":"b"`, true}, {`x > "a"`, `"x":"B"`,
			false},
		{`x == 9007199254740993`, `"x":9007199254740993`, true}, {`x == 9007199254740993`, `"x":9007199254740992`,
			false},
		{`x > 1e30`, `"x":1e999`, true}, {`x > 0`, `"x":123456789012345678901234567890`, true},
		{`x`, `"x":true`, true}, {`x`, `"x":false`, false}, {`x`, `"x":1`, false}, {`x`, `"x":"true"`, false},
		{`x == true`, `"x":true`, true},
		{`!x`, `"x":false`, true}, {`not x`, `"x":1`, false},
		{`x == "a"`, `"x":"\u0061"`, true}, {`x == "é"`, `"x":"é"`, true},
		// Missing and null.
		{`x == 5`, ``, false}, {`x != 5`, ``, false}, {`x == nil`, ``, false}, {`x != nil`, ``, false},
		{`not (x == 5)`, ``, false},
		{`x == nil`, `"x":null`, true}, {`x != 5`, `"x":null`, true}, {`x > 5`, `"x":null`, false},
		{`x`, `"x":null`, false},
		{`y == 1 or x == 1`, `"y":1`, false}, {`y == 1 or x == 1`, `"y":1,"x":null`, true},
		{`(x ?? 0) == 0`, ``, true}, {`(x ?? 0) == 0`, `"x":null`, true}, {`(x ?? 0) == 0`, `"x":1`, false},
		{`(x ?? y) == 2`, `"y":2`, true}, {`(x ?? y) == 2`, ``, false}, {`(x ?? y ?? 2) == 2`, ``, true},
		// Records and lists.
		{`x.a == 1`, `"x":{"a":1}`, true}, {`x.a == 1`, `"x":{"a":2,"a":1}`, true}, {`x.a != 1`, `"x":{}`, false},
		{`x.a == nil`, `"x":{"a":null}`, true}, {`x.a != 1`, `"x":null`, false}, {`x.a != 1`, `"x":5`, false},
		{`x.a != 1`, `"x":[]`, false},
		{`x.a.b == 1`, `"x":{"a":{"b":1}}`, true}, {`x.a.b != 2`, `"x":{"a":{}}`, false}, {`x["a"] == 1`, `"x":{"a":1}`,
			true},
		{`x?.a == nil`, `"x":null`, true}, {`x?.a == nil`, `"x":{}`, true}, {`x?.a == nil`, ``, false},
		{`(x?.a ?? 1) == 1`, ``, true},
		{`x[0] == "a"`, `"x":["a"]`, true}, {`x[1] == "a"`, `"x":["a"]`, false}, {`x[-1] == "b"`, `"x":["a","b"]`,
			true},
		{`"a" in x`, `"x":["b","a"]`, true}, {`"c" in x`, `"x":["b","a"]`, false}, {`1 in x`, `"x":[[1],1.0]`, true},
		{`"a" in x`, `"x":{"a":null}`, true},
		{`"a" in x`, `"x":"abc"`, false}, {`"a" in x`, `"x":null`, false}, {`x[y] == 3`, `"x":{"k":3},"y":"k"`, true},
		{`x == [1, 2]`, `"x":[1,2]`, true}, {`x == [1, "a"]`, `"x":[1,"a"]`, true}, {`x == [1, 2]`, `"x":[2,1]`, false},
		{`x[1:] == y`, `"x":[0,"b",{"c":[]}],"y":["b",{"c":[]}]`, true},
		// Strings, membership, ranges, arithmetic, choice.
		{`x in ["CH", "DE"]`, `"x":"CH"`, true}, {`x not in ["CH", "DE"]`, `"x":"CH"`, false}, {`x in [1, "a", nil]`,
			`"x":null`, true},
		{`x in [1, 2]`, `"x":2.0`, true}, {`x in 500..599`, `"x":503`, true}, {`x in 500..599`, `"x":"503"`, false},
		{`x startsWith "/p"`, `"x":"/products"`, true}, {`x endsWith "s"`, `"x":"/products"`, true},
		{`x contains "duc"`, `"x":"/products"`, true},
		{`x contains "duc"`, `"x":5`, false}, {`not (x contains "duc")`, `"x":5`, false},
		{`x matches "^/p[a-z]+$"`, `"x":"/products"`, true}, {`x matches "^p"`, `"x":"/products"`, false},
		{`x matches "a"`, `"x":5`, false},
		{`x matches "a"`, `"x":null`, false}, {`x + 1 == 6`, `"x":5`, true}, {`x % 2 == 1`, `"x":5`, true},
		{`x % 2 == 1`, `"x":5.5`, false},
		{`x % 0 == 1`, `"x":5`, false}, {`x / 0 > 1`, `"x":5`, true}, {`x ? y : false`, `"x":true,"y":true`, true},
		{`x ** 2 == 25`, `"x":5`, true},
		{`x > 1 and y == "a" || false`, `"x":5,"y":"a"`, true}, {`1 < x < 9`, `"x":5`, true}, {`"x" == "x"`, ``, true},
		{`false`, ``, false},
		// Names that the language knows as functions, and names that it does not know.
		{`count == 1 and type == "a" and len == 2`, `"count":1,"type":"a","len":2`, true}, {`$env["a b"] == 1`,
			`"a b":1`, true},
		{`$env["a b"].c == 1`, `"a b":{"c":1}`, true}, {`$env["a b"] != 1`, ``, false}, {`user == "u" and t == 1`, ``,
			true},
	} {
		value := "{" + rest + "}"
		if c.members != "" {
			value = "{" + c.members + "," + rest + "}"
		}
		if got := passing(t, jsonFormat("s"), c.filter, value); got != c.want {
			t.Errorf("%s of %s: %v, want %v", c.filter, value, got, c.want)
		}
	}
}

func TestFiltersSeeColumnsAsNumbersOrStrings(t *testing.T) {
	for _, c := range []struct {
		filter, other string
		want          bool
	}{
		{`other == 200`, "200", true}, {`other == 2e2`, "200", true}, {`other >= 1.5`, "1.50", true},
		{`other == "200"`, "200", false},
		{`other == "007"`, "007", true}, {`other == 7`, "007", false}, {`other == "a\"b"`, `"a""b"`, true},
		{`other == ""`, "", true},
		{`other == "-"`, "-", true}, {`other == -1`, "-1", true}, {`other == "true"`, "true", true},
		{`other`, "true", false},
		{`page == "p" and user == "u"`, "", true},
	} {
		if got := passing(t, rowFormat("csv", "s"), c.filter, "1,u,"+c.other+",p,y"); got != c.want {
			t.Errorf("%s of %q: %v, want %v", c.filter, c.other, got, c.want)
		}
	}
	f := rowFormat("tsv", "s")
	f.Filters = []string{"other == 1", "nowhere == 1"}
	var bad *FormatError
	if _, err := NewDecoder(f); !errors.As(err, &bad) || bad.Field != "filters[1]" {
		t.Errorf("a filter of no column: %v", err)
	}
}

// A comparison that is reported as never equal is true of no record; any other is true of at least
// one.
func TestComparisonsThatAreNeverEqualAreFound(t *testing.T) {
	columns := []string{"200", "2e2", "007", "-1", "-", "", "a", "true", "nil", "1.50"}
	for constant, want := range map[string]string{
		`"200"`: "without quotes", `"-1"`: "without quotes", `"2e2"`: "without quotes", "true": "numbers and strings",
		"nil":   "numbers and strings",
		`"007"`: "", "7": "", "200": "", "1.5": "", `"a"`: "", `"true"`: "", `""`: "", `"-"`: "",
	} {
		for _, text := range []string{"other == " + constant, constant + " == $env[\"other\"]", "other in [" +
			constant + "]", "not (other != " + constant + ")"} {
			got := rowFormat("csv", "s").NeverEqual(text)
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
			equal := slices.ContainsFunc(columns, func(value string) bool {
				return passing(t, rowFormat("csv", "s"),
					text, "1,u,"+value+",p,y")
			})
			if constant != "7" && equal != (want == "") {
				t.Errorf("%s: equal in some record is %v", text, equal)
			}
		}
	}
	for text, want := range map[string]string{
		`price == "200"`: "double", `page == 200`: "union", `"x" != price`: "double", `price == 200`: "",
		`page == "x"`: "", `nowhere == 1`: "",
		`(page ?? 5) == 5`: "", `page == user`: "", `page < 5`: "", `page ==`: "",
	} {
		if got := visitFormat().NeverEqual(text); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("avro, %s: %q, want %q", text, got, want)
		}
	}
	types := visitFormat()
	types.User, types.Key, types.Time, types.TimeUnit = "u", "", "t", "s"
	types.Schema = `{"type":"record","name":"R","fields":[{"name":"u","type":"string"},{"name":"t","type":"long"},
		{"name":"e","type":{"type":"enum","name":"E","symbols":["a"]}},
		{"name":"b","type":"boolean"},{"name":"n","type":["null","int"]},
		{"name":"l","type":{"type":"array","items":"int"}}]}`
	for text, want := range map[string]bool{
		`e == "a"`: false, `e == "b"`: true, `e == 0`: true, `b == true`: false, `b == "true"`: true, `n == nil`: false,
		`n == 1`: false, `n == "1"`: true,
		`l == 1`: true, `u == nil`: true, `l[0] == "x"`: false,
	} {
		if got := types.NeverEqual(text); (got != "") != want {
			t.Errorf("avro, %s: %q, want one: %v", text, got, want)
		}
	}
	for _, f := range []Format{jsonFormat("s"), {Format: "avro", User: "user", Time: "at"}} {
		if got := f.NeverEqual(`other == "200" or other == true`); got != "" {
			t.Errorf("%s, of any type: %q", f.Format, got)
		}
	}
}

func TestEveryFilterHasItsBit(t *testing.T) {
	f := jsonFormat("s")
	for i := range filter.MaxFilters {
		f.Filters = append(f.Filters, []string{`x == 1`, `x == 2`, `y == 1`}[i%3])
	}
	d := newDecoder(t, f)
	var ev Event
	for _, c := range []struct {
		value string
		want  func(i int) bool
	}{
		{`{"user":"u","page":"p","t":1,"x":1,"y":1}`, func(i int) bool { return i%3 != 1 }},
		{`{"user":"u","page":"p","t":1,"x":2}`, func(i int) bool { return i%3 == 1 }},
		{`{"user":"u","page":"p","t":1}`, func(int) bool { return false }},
	} {
		if err := d.Decode([]byte(c.value), &ev); err != nil {
			t.Fatal(err)
		}
		for i := range filter.MaxFilters {
			if got := ev.Passes>>i&1 == 1; got != c.want(i) {
				t.Errorf("%s: bit %d is %v", c.value, i, got)
			}
		}
	}
}

// An event cannot make a filter hang, grow beyond bounds or change what later events pass.
func TestHostileEventsDoNotHangFilters(t *testing.T) {
	size := 400000
	if !long.On() {
		size = 40000
	}
	long := strings.Repeat("a", size)
	list := "[" + strings.Repeat("1,", size/2) + "1]"
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	f := jsonFormat("s")
	var slowest time.Duration
	defer func() { t.Logf("the slowest event took %s", slowest) }()
	f.Filters = []string{`x matches "^(a+)+$"`, `x + x + x == y`, `x contains y`, `x == y`, `2 in x`, `x in [[1], y]`,
		`x ** x > 1`, `x[y] == 1`, `true`}
	d := newDecoder(t, f)
	for _, x := range []string{`"` + long + `"`, list, deep, `{"a":` + list + `}`, "1e999", "-9223372036854775808",
		"null", `{}`} {
		for _, y := range []string{`"` + long + `b"`, list, deep, "-1", "null"} {
			var ev Event
			begin := time.Now()
			if err := d.Decode([]byte(`{"user":"u","page":"p","t":1,"x":`+x+`,"y":`+y+`}`), &ev); err != nil && len(x)+
				len(y) < 1<<20-100 {
				t.Fatal(err)
			}
			slowest = max(slowest, time.Since(begin))
		}
	}
	var ev Event
	if slowest > 10*time.Second {
		t.Error("too slow")
	}
	if err := d.Decode([]byte(`{"user":"u","page":"p","t":1,"x":"aaa","y":"a"}`), &ev); err != nil ||
		ev.Passes != 0b100000101 {
		t.Errorf("afterwards: %b %v", ev.Passes, err)
	}
}

// No text makes the compiler panic or take long, no filter that it accepts makes evaluation panic,
// and what an event passes does not depend on the events before it.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{`x == 5`, `x.a?.b ?? 1 > 2`, `x in ["a", nil, 1.5]`, `x matches "^a"`,
		`not (x startsWith "a") and y[0] != 'b'`,
		`x ? y : z[1:]`, `$env["a b"] .. 3`, `1..5`, `-x ** 2 % y`, `if x { y } else { z }`, "x == `a`",
		`"\u0041" == x`, `0x1F < x`, `1_000 == x`} {
		f.Add(s, `{"user":"u","page":"p","t":1,"x":{"a":[1,"b",null]},"y":"a"}`)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		names, err := filter.Fields(text)
		if err != nil {
			return
		}
		format := jsonFormat("s")
		format.Filters = []string{text, text}
		d := newDecoder(t, format)
		var ev, again Event
		if d.Decode([]byte(value), &ev) != nil {
			return
		}
		other := `{"user":"u","page":"p","t":1`
		for _, name := range names {
			if !strings.ContainsAny(name, "\"\\\x00") {
				other += `,"` + name + `":"other"`
			}
		}
		classOf(t, d.Decode([]byte(other+"}"), &again))
		if err := d.Decode([]byte(value), &again); err != nil || ev.Passes != again.Passes || ev.Passes != 0 &&
			ev.Passes != 3 {
			t.Errorf("%q of %q: %b, then %b, %v", text, value, ev.Passes, again.Passes, err)
		}
	})
}
