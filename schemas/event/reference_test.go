package event

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/schemas"
)

var jsonNumberText = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// referenceTime is parseTime by rational numbers.
func referenceTime(text, unit string) (int64, bool) {
	text = strings.TrimSpace(text)
	if unit == "rfc3339" {
		var tm time.Time
		err := tm.UnmarshalText([]byte(text))
		ms := tm.UnixMilli()
		return ms, err == nil && ms >= minMillis && ms <= maxMillis
	}
	m := jsonNumberText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	mantissa, _ := new(big.Rat).SetString(m[1] + m[2] + m[3])
	exp, ok := new(big.Int).SetString(strings.TrimLeft(strings.TrimLeft(m[4], "eE"), "+"), 10)
	if !ok {
		exp = new(big.Int)
	}
	exp.Add(exp, big.NewInt(map[string]int64{"s": 3, "ms": 0, "us": -3, "ns": -6}[unit]))
	switch limit := big.NewInt(5000); {
	case mantissa.Sign() == 0 || exp.CmpAbs(limit) > 0 && exp.Sign() < 0:
		return -int64(max(0, -mantissa.Sign())), true // a tiny negative number's floor is −1
	case exp.CmpAbs(limit) > 0:
		return 0, false
	}
	pow := new(big.Int).Exp(big.NewInt(10), new(big.Int).Abs(exp), nil)
	if scale := new(big.Rat).SetInt(pow); exp.Sign() < 0 {
		mantissa.Quo(mantissa, scale)
	} else {
		mantissa.Mul(mantissa, scale)
	}
	// Div is Euclidean: the floor, as denominators are positive.
	floor := new(big.Int).Div(mantissa.Num(), mantissa.Denom())
	if floor.Cmp(big.NewInt(minMillis)) < 0 || floor.Cmp(big.NewInt(maxMillis)) > 0 {
		return 0, false
	}
	return floor.Int64(), true
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{"1", "-1.5", "1e3", "17E-2", "1700000000.123456", "0.0", "-0", "9e17", "253402300800",
		"2024-01-01T00:00:00.5Z", "1e-400", "123456789012345678901234567890e-20",
		"-1.0009", "-0.0001", "1e-9", "-1e-99999999999", "0e99999999999", "1700000000.123999", "-62135596800",
		"-62135596800.001",
		"253402300799.9999", "253402300799999999", "1999", "1740963000000000001", "", "-", "1.", ".5", "+1", " 1",
		"0x10", "1e", "NaN", "01",
		"1969-12-31T23:59:59.9981Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59.9999Z",
		"9999-12-31T23:59:59-00:01", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		for _, unit := range []string{"s", "ms", "us", "ns", "rfc3339"} {
			got, ok := parseTime([]byte(text), unit)
			want, wantOK := referenceTime(text, unit)
			if ok != wantOK || ok && got != want {
				t.Errorf("%s %q: %d %v, want %d %v", unit, text, got, ok, want, wantOK)
			}
		}
	})
}

var jsonEscape = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// referenceString decodes a JSON string with encoding/json; whole is false if that replaced half a
// surrogate pair.
func referenceString(raw json.RawMessage) (s string, whole bool) {
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", false
	}
	meant := strings.Count(string(raw), "\uFFFD")
	for _, e := range jsonEscape.FindAllString(string(raw), -1) {
		if strings.EqualFold(e, `\ufffd`) {
			meant++
		}
	}
	return s, strings.Count(s, "\uFFFD") == meant
}

// referenceJSON is decoding by encoding/json, with the rules of this package on top.
func referenceJSON(f Format, value []byte) (ev Event, class string) {
	var fields map[string]json.RawMessage
	if !utf8.Valid(value) || json.Unmarshal(value, &fields) != nil || fields == nil {
		return ev, ClassUndecodable
	}
	var texts [fieldCount]string
	for i, name := range []string{f.User, f.Key, f.Time} {
		raw, ok := fields[name]
		if !ok {
			return ev, ClassMissingField
		}
		switch c := raw[0]; {
		case c == 'n':
			return ev, ClassNullField
		case c == '"':
			s, whole := referenceString(raw)
			if !whole {
				return ev, []string{ClassUndecodable, ClassBadKey, ClassBadTimestamp}[i]
			}
			texts[i] = s
		case (c == 't' || c == 'f') && i == fieldKey:
			texts[i] = string(raw)
		case c == '-' || c >= '0' && c <= '9':
			n, isInt := new(big.Int).SetString(string(raw), 10)
			switch {
			case i == fieldTime:
				texts[i] = string(raw)
			case !isInt:
				return ev, ClassWrongType
			default:
				texts[i] = n.String()
			}
		default:
			return ev, ClassWrongType
		}
	}
	switch {
	case texts[0] == "":
		return ev, ClassEmptyUser
	case len(texts[0]) > schemas.MaxUserBytes:
		return ev, ClassUserTooLong
	case len(texts[1]) > schemas.MaxKeyBytes:
		return ev, ClassKeyTooLong
	}
	ms, ok := referenceTime(texts[2], f.TimeUnit)
	if !ok {
		return ev, ClassBadTimestamp
	}
	return Event{User: []byte(texts[0]), Key: []byte(texts[1]), Millis: ms}, ""
}

// coarse returns the class of a record by its contents, ignoring its form.
func coarse(class string) string {
	if slices.Contains([]string{ClassNotUTF8, ClassPacked, ClassFramed, ClassUnframed, ClassInString}, class) {
		return ClassUndecodable
	}
	return class
}

func checkJSON(t *testing.T, value []byte) {
	if len(value) > 1<<16 {
		return
	}
	for _, unit := range []string{"s", "us", "rfc3339"} {
		f := jsonFormat(unit)
		var ev Event
		class := coarse(classOf(t, newDecoder(t, f).Decode(value, &ev)))
		want, wantClass := referenceJSON(f, value)
		if class != wantClass {
			t.Fatalf("%s %q: class %q, encoding/json gives %q", unit, value, class, wantClass)
		}
		if class == "" && (!bytes.Equal(ev.User, want.User) || !bytes.Equal(ev.Key, want.Key) ||
			ev.Millis != want.Millis) {
			t.Fatalf("%s %q: %v, encoding/json gives %v", unit, value, ev, want)
		}
	}
}

var jsonSeeds = []string{
	`{"user":"u","page":"p","t":1}`, `{"user":1,"page":true,"t":"1"}`, `{"user":"\ud83d\ude00","page":"\u00e9",` +
		`"t":1.5e3}`,
	`{"user":"\ud83d","page":"\udc00\ud800","t":1}`, `{"user":"\ufffd","page":"` + "\uFFFD" + `","t":1}`,
	`{"user":"u","page":"p","t":"2024-01-01T00:00:00Z","x":[1,{"a":[]},null,-0.1e+5],"y":{"t":9}}`,
	`{}`, `[]`, `null`, ` { } `, `{"t":01}`, `{"t":-}`, `{"a":tru}`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{"a":"\x"}`,
	"{\"a\":\"\x01\"}", `{"user":"u","page":"p","t":1} x`, `{"\u0075ser":"a","page":"","t":0}`, `{"a":nullx}`, `{"":1}`,
	`{"user":null,"user":"b","page":1,"page":"c","t":"x","t":1}`, `{"user":-17,"page":false,"t":"-0.5",` +
		`"us\u0065r":"\\"}`,
	`{"user":"a","page":"\uD800\u0041","t":1}`, `{"user":"a","page":"p","t":1,"x":[{"}":"]"},"\"]"],` +
		`"\ud800":{"user":"b"}}`,
	`{"user":"\"\\\/\b\f\n\r\t","page":-0,"t":-0}`, `{"user":"` + "\x7f\u2028" + `","page":"x","t":1e400}`,
}

// The decoder must accept, refuse and understand exactly what encoding/json does.
func FuzzJSONDecoderIsEncodingJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(checkJSON)
}

func TestJSONDepthIsThatOfEncodingJSON(t *testing.T) {
	for _, depth := range []int{10, 9998, 9999, 10000, 10001} {
		for _, pair := range []string{"[]", "{}"} {
			open, end := "[", "]"
			if pair == "{}" {
				open, end = `{"a":`, "}"
			}
			inner := strings.Repeat(open, depth) + "1" + strings.Repeat(end, depth)
			checkJSON(t, []byte(`{"user":"u","page":"p","t":1,"x":`+inner+`}`))
		}
	}
}

// checkCSV compares with encoding/csv: the same fields where both take a record as one row, and no
// row refused that encoding/csv reads as exactly one row from the first byte to the last.
func checkCSV(t *testing.T, value []byte) {
	r := csv.NewReader(bytes.NewReader(value))
	r.FieldsPerRecord = -1
	want, err := r.Read()
	one := err == nil && r.InputOffset() == int64(len(value))
	if one {
		line, _ := r.FieldPos(0)
		one = line == 1
	}
	if err == nil {
		if _, err2 := r.Read(); !errors.Is(err2, io.EOF) {
			one = false
		}
	}
	columns := make([]string, max(len(want), 1))
	for i := range columns {
		columns[i] = fmt.Sprint(i)
	}
	for i := range columns {
		d := newDecoder(t, Format{Format: "csv", Columns: columns, User: columns[i], Key: columns[0],
			Time: columns[len(columns)-1], TimeUnit: "s"})
		got := d.records.find(value)
		if (got == nil) != one {
			t.Fatalf("%q: accepted %v, encoding/csv %v", value, got == nil, one)
		}
		if got == nil && (string(d.raw[fieldUser]) != want[i] || string(d.raw[fieldKey]) != want[0] ||
			string(d.raw[fieldTime]) != want[len(want)-1]) {
			t.Fatalf("%q: field %d is %q, encoding/csv gives %q", value, i, d.raw[fieldUser], want[i])
		}
	}
}

// Every text of up to six of the bytes that mean something to CSV (up to eight with TOLLGATE_LONG:
// 488,280 texts).
func TestEveryShortRowIsReadAsByEncodingCSV(t *testing.T) {
	longest := 8
	if !long.On() {
		longest = 6
	}
	var value []byte
	var extend func()
	extend = func() {
		if len(value) > 0 {
			checkCSV(t, value)
		}
		if len(value) == longest {
			return
		}
		for _, c := range []byte("a,\"\n\r") {
			value = append(value, c)
			extend()
			value = value[:len(value)-1]
		}
	}
	extend()
}

func FuzzCSVDecoderIsEncodingCSV(f *testing.F) {
	for _, s := range []string{"1,u,x,p,y\n", "\"a\"\"b\",c", "\"a\r\nb\"\r\n", "a\rb,c\r", "\"\"", ",", "\n", "a\n\n",
		"\"a\"b", "a\"b", "\"a\r\r\n\"\"\n\"", "\r", "\"\r\"", "a,b\r\r\n", "\"\r\",\"\n\"\"\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) < 1000 {
			checkCSV(t, value)
		}
	})
}

// No bytes make a decoder panic, and accepted events keep the limits.
func FuzzDecoder(f *testing.F) {
	for _, s := range append(jsonSeeds, "1,u,x,p,y\n", "1\tu\tx\tp\ty") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, format := range []Format{jsonFormat("ms"), rowFormat("csv", "rfc3339"), rowFormat("tsv", "us")} {
			var ev Event
			if newDecoder(t, format).Decode(value, &ev) != nil {
				continue
			}
			if schemas.ValidateUser(ev.User) != nil || schemas.ValidateKey(ev.Key) != nil || ev.Millis < minMillis ||
				ev.Millis > maxMillis {
				t.Errorf("%q: accepted beyond the limits", value)
			}
		}
	})
}
