package event

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

func jsonFormat(unit string) Format {
	return Format{Format: "jsonl", User: "user", Key: "page", Time: "t", TimeUnit: unit}
}

func rowFormat(format, unit string) Format {
	return Format{Format: format, Columns: []string{"t", "user", "other", "page", "last"}, User: "user",
		Key: "page", Time: "t", TimeUnit: unit}
}

func newDecoder(t testing.TB, f Format) *Decoder {
	t.Helper()
	d, err := NewDecoder(f)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// classOf returns the class of an error of Decode, "" for none.
func classOf(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %T is no *Error", err)
	}
	return e.Class
}

func TestEveryBrokenRecordHasItsClass(t *testing.T) {
	long := strings.Repeat("x", schemas.MaxUserBytes+1)
	for _, c := range []struct{ name, format, unit, value, class string }{
		{"good", "jsonl", "s", `{"user":"u","page":"p","t":1}`, ""},
		{"good with line break and space", "jsonl", "s", " {\"user\":\"u\" ,\"page\":\"p\",\"t\":1.5, " +
			"\"x\":[{},1]}\r\n", ""},
		{"integers for ids", "jsonl", "s", `{"user":12345678901234567890,"page":-0,"t":"1"}`, ""},
		{"boolean for key", "jsonl", "s", `{"user":"u","page":true,"t":1}`, ""},
		{"empty key", "jsonl", "s", `{"user":"u","page":"","t":1}`, ""},
		{"last of two counts", "jsonl", "s", `{"user":null,"page":"p","t":1,"user":"u"}`, ""},
		{"tombstone", "jsonl", "s", ``, ClassUndecodable},
		{"null", "jsonl", "s", `null`, ClassUndecodable},
		{"array", "jsonl", "s", `[1]`, ClassUndecodable},
		{"cut short", "jsonl", "s", `{"user":"u","page":"p","t":1`, ClassUndecodable},
		{"two objects", "jsonl", "s", `{"user":"u","page":"p","t":1}{}`, ClassUndecodable},
		{"invalid UTF-8", "jsonl", "s", "{\"user\":\"u\xff\",\"page\":\"p\",\"t\":1}", ClassNotUTF8},
		{"half a surrogate pair in the user", "jsonl", "s", `{"user":"\ud800","page":"p","t":1}`, ClassUndecodable},
		{"half a surrogate pair in the key", "jsonl", "s", `{"user":"u","page":"\ud800","t":1}`, ClassBadKey},
		{"half a surrogate pair in the time", "jsonl", "s", `{"user":"u","page":"p","t":"\udc00"}`, ClassBadTimestamp},
		{"missing user", "jsonl", "s", `{"page":"p","t":1}`, ClassMissingField},
		{"other case", "jsonl", "s", `{"User":"u","page":"p","t":1}`, ClassMissingField},
		{"null user", "jsonl", "s", `{"user":null,"page":"p","t":1}`, ClassNullField},
		{"null key", "jsonl", "s", `{"user":"u","page":null,"t":1}`, ClassNullField},
		{"null time", "jsonl", "s", `{"user":"u","page":"p","t":null}`, ClassNullField},
		{"boolean user", "jsonl", "s", `{"user":true,"page":"p","t":1}`, ClassWrongType},
		{"fractional user", "jsonl", "s", `{"user":1.0,"page":"p","t":1}`, ClassWrongType},
		{"object for key", "jsonl", "s", `{"user":"u","page":{},"t":1}`, ClassWrongType},
		{"boolean time", "jsonl", "s", `{"user":"u","page":"p","t":false}`, ClassWrongType},
		{"number for RFC 3339", "jsonl", "rfc3339", `{"user":"u","page":"p","t":1}`, ClassBadTimestamp},
		{"empty user", "jsonl", "s", `{"user":"","page":"p","t":1}`, ClassEmptyUser},
		{"user too long", "jsonl", "s", `{"user":"` + long + `","page":"p","t":1}`, ClassUserTooLong},
		{"key too long", "jsonl", "s", `{"user":"u","page":"` + long[:schemas.MaxKeyBytes+1] + `","t":1}`,
			ClassKeyTooLong},
		{"word for time", "jsonl", "s", `{"user":"u","page":"p","t":"now"}`, ClassBadTimestamp},
		{"year 10000", "jsonl", "s", `{"user":"u","page":"p","t":253402300800}`, ClassBadTimestamp},
		{"milliseconds taken for seconds", "jsonl", "s", `{"user":"u","page":"p","t":1700000000000}`,
			ClassBadTimestamp},
		{"huge exponent", "jsonl", "s", `{"user":"u","page":"p","t":1e999999999999999999999}`, ClassBadTimestamp},
		{"oversized", "jsonl", "s", `{"user":"u","page":"p","t":1,"x":"` + strings.Repeat("y", 8192) + `"}`,
			ClassOversized},

		{"good row", "csv", "s", "1,u,x,p,y\n", ""},
		{"quotes", "csv", "s", "1,\"u\"\"\n\",,\"p,\",\"\"", ""},
		{"CRLF", "csv", "s", "1,u,x,p,y\r\n", ""},
		{"user of any bytes", "csv", "s", "1,u\xff,x,p,y", ""},
		{"empty row", "csv", "s", "\n", ClassUndecodable},
		{"tombstone row", "csv", "s", "", ClassUndecodable},
		{"two rows", "csv", "s", "1,u,x,p,y\n1,u,x,p,y", ClassUndecodable},
		{"bare quote", "csv", "s", "1,u\",x,p,y", ClassUndecodable},
		{"open quote", "csv", "s", "1,\"u,x,p,y", ClassUndecodable},
		{"text after a quote", "csv", "s", "1,\"u\"x,x,p,y", ClassUndecodable},
		{"too many fields", "csv", "s", "1,u,x,p,y,z", ClassUndecodable},
		{"one field short after the key", "csv", "s", "1,u,x,p", ClassUndecodable},
		{"no key", "csv", "s", "1,u,x", ClassMissingField},
		{"no user", "csv", "s", "1", ClassMissingField},
		{"empty user in a row", "csv", "s", "1,,x,p,y", ClassEmptyUser},
		{"empty time in a row", "csv", "s", ",u,x,p,y", ClassBadTimestamp},
		{"key not UTF-8", "csv", "s", "1,u,x,\xff,y", ClassBadKey},
		{"leading zero", "csv", "s", "01,u,x,p,y", ClassBadTimestamp},
		{"good tabs", "tsv", "rfc3339", "2024-02-29T12:00:00.0009+01:00\tu\"\t\tp\ty\n", ""},
		{"29 February of no leap year", "tsv", "rfc3339", "2023-02-29T12:00:00Z\tu\t\tp\ty", ClassBadTimestamp},
		{"two tab rows", "tsv", "rfc3339", "2024-02-29T12:00:00Z\tu\t\tp\ty\nx", ClassUndecodable},
	} {
		t.Run(c.format+" "+c.name, func(t *testing.T) {
			f := rowFormat(c.format, c.unit)
			if c.format == "jsonl" {
				f = jsonFormat(c.unit)
			}
			f.MaxRecordBytes = 8192
			var ev Event
			err := newDecoder(t, f).Decode([]byte(c.value), &ev)
			if got := classOf(t, err); got != c.class {
				t.Errorf("class %q, want %q", got, c.class)
			}
			if err != nil && len(c.value) > 0 && strings.Contains(err.Error(), long[:40]) {
				t.Error("error text has data of the record")
			}
		})
	}
}

// FuzzTime compares the other units with rational numbers.
func TestTimesAreFlooredToMilliseconds(t *testing.T) {
	for _, c := range []struct {
		unit, text string
		ms         int64
		ok         bool
	}{
		{"s", "-1.0009", -1001, true}, {"us", "253402300800000000", 0, false}, {"rfc3339", "1969-12-31T23:59:59.9981Z",
			-2, true},
		{"min", "29016487", 1740989220000, true}, {"min", "-0.5", -30000, true}, {"h", "483608.125", 1740989250000,
			true},
		{"d", "20150.338553", 1740989250979, true}, {"excel", "45719.338553240741", 1740989251000, true},
		{"excel", "25569", 0, true},
		{"excel", "1e9", 0, false}, {"filetime", "133854628510000000", 1740989251000, true}, {"d", "10650232.8", 0,
			false},
		{"h", "999999999999", 0, false},
	} {
		ms, ok := parseTime([]byte(c.text), c.unit)
		if ok != c.ok || ok && ms != c.ms {
			t.Errorf("%s %q: %d %v, want %d %v", c.unit, c.text, ms, ok, c.ms, c.ok)
		}
	}
}

func TestFormatsThatCannotBe(t *testing.T) {
	good := rowFormat("csv", "s")
	for name, change := range map[string]func(*Format){
		"no user":            func(f *Format) { f.User = "" },
		"no time":            func(f *Format) { f.Time = "" },
		"unknown column":     func(f *Format) { f.Key = "nowhere" },
		"column named twice": func(f *Format) { f.Columns = append(f.Columns, "user") },
		"unit":               func(f *Format) { f.TimeUnit = "weeks" },
		"format":             func(f *Format) { f.Format = "xml" },
		"limit":              func(f *Format) { f.MaxRecordBytes = -1 },
	} {
		f := good
		f.Columns = append([]string(nil), good.Columns...)
		change(&f)
		if _, err := NewDecoder(f); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := NewDecoder(good); err != nil {
		t.Error(err)
	}
}

func TestWithoutAKeyFieldEveryEventHasTheEmptyKey(t *testing.T) {
	for format, value := range map[string]string{"csv": "1,u,x,p,y", "jsonl": `{"user":"u","t":1,"":"p"}`} {
		f := rowFormat(format, "s")
		f.Key = ""
		ev := Event{Key: []byte("old")}
		if err := newDecoder(t, f).Decode([]byte(value), &ev); err != nil || len(ev.Key) != 0 {
			t.Errorf("%s: key %q, %v", format, ev.Key, err)
		}
	}
}
