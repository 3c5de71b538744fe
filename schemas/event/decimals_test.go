package event

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// referenceValue is x·10^decimals by rational numbers, rounded with a half away from zero, or a
// whole number without decimals.
func referenceValue(text string, decimals int) (int64, bool) {
	if !json.Valid([]byte(text)) || !jsonNumberText.MatchString(text) {
		return 0, false
	}
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, false
	}
	x.Mul(x, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)))
	if decimals == 0 {
		return x.Num().Int64(), x.IsInt() && x.Num().IsInt64()
	}
	half := big.NewRat(int64(x.Sign()), 2)
	n := new(big.Int).Quo(x.Add(x, half).Num(), x.Denom()) // towards zero
	return n.Int64(), n.CmpAbs(big.NewInt(maxUnits)) <= 0
}

func randomNumber(random *rand.Rand) string {
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	return pick("", "-") + pick("0", "1", "7", "12", "99", "1005", strconv.FormatUint(random.Uint64N(1e9), 10)) +
		pick("", "", ".5", ".05", ".004999", ".005", ".995", ".49", fmt.Sprintf(".%d", random.Uint64N(1e6))) +
		pick("", "", "", "e0", "e2", "E-3", "e+1", "e-12")
}

// In all formats a value is rounded to the nearest unit, a half away from zero.
func TestValuesAreRoundedToTheirDecimals(t *testing.T) {
	t.Parallel()
	random := rand.New(runseed.PCG(t, 1, 1))
	for range 20_000 {
		text, decimals := randomNumber(random), random.IntN(MaxDecimals+1)
		want, ok := referenceValue(text, decimals)
		for name, got := range map[string]func(string, int) (int64, error){"jsonl": valueOfJSON, "csv": valueOfCSV} {
			if value, err := got(text, decimals); ok != (err == nil) || ok && value != want {
				t.Fatalf("%s: %s with %d decimals is %d, %v; want %d, %v", name, text, decimals, value, err, want, ok)
			}
		}
		if decimals == 0 {
			continue
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		for kind, shortest := range map[string]string{"double": strconv.FormatFloat(x, 'e', -1, 64),
			"float": strconv.FormatFloat(float64(float32(x)), 'e', -1, 32)} {
			want, ok := referenceValue(shortest, decimals)
			if value, err := valueOfAvro(kind, x, decimals); ok != (err == nil) || ok && value != want {
				t.Fatalf("%s: %v with %d decimals is %d, %v; want %d, %v", kind, x, decimals, value, err, want, ok)
			}
		}
	}
}

func decodeValue(f Format, record []byte) (int64, error) {
	d, err := NewDecoder(f)
	if err != nil {
		return 0, err
	}
	var ev Event
	err = d.Decode(record, &ev)
	return ev.Value, err
}

func valueOfJSON(text string, decimals int) (int64, error) {
	f := Format{Format: "jsonl", User: "u", Time: "t", TimeUnit: "ms", Value: "v", Decimals: decimals}
	return decodeValue(f, fmt.Appendf(nil, `{"u":"a","t":1,"v":%s}`, text))
}

func valueOfCSV(text string, decimals int) (int64, error) {
	f := Format{Format: "csv", Columns: []string{"u", "t", "v"}, User: "u", Time: "t", TimeUnit: "ms", Value: "v",
		Decimals: decimals}
	return decodeValue(f, []byte("a,1,"+text))
}

func avroOfValue(kind string, decimals int) Format {
	schema := fmt.Sprintf(`{"type":"record","name":"r","fields":[{"name":"u","type":"string"},{"name":"t",`+
		`"type":"long"},{"name":"v","type":["null",%q]}]}`, kind)
	return Format{Format: "avro", User: "u", Time: "t", TimeUnit: "ms", Value: "v", Decimals: decimals, Schema: schema}
}

func valueOfAvro(kind string, x float64, decimals int) (int64, error) {
	record := []byte("\x02a\x02\x02")
	switch kind {
	case "double":
		record = append(record, avroDoubleText(x)...)
	case "float":
		record = binary.LittleEndian.AppendUint32(record, math.Float32bits(float32(x)))
	case "long":
		record = binary.AppendVarint(record, int64(x))
	}
	return decodeValue(avroOfValue(kind, decimals), record)
}

func TestValuesThatCannotBeRoundedAreOfAWrongType(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e18} {
		if v, err := valueOfAvro("double", x, 3); !isClass(err, ClassBadValue) {
			t.Errorf("%v is %d, %v", x, v, err)
		}
	}
	if v, err := valueOfAvro("long", 3, 3); err != nil || v != 3000 {
		t.Errorf("3 is %d, %v", v, err)
	}
	if v, err := valueOfAvro("long", 1e17, 3); !isClass(err, ClassBadValue) {
		t.Errorf("10¹⁷ is %d, %v", v, err)
	}
	for _, text := range []string{"1e18", "-1e40", "1,5"} {
		if v, err := valueOfJSON(text, 2); err == nil {
			t.Errorf("%s is %d", text, v)
		}
	}
}

func isClass(err error, class string) bool {
	var e *Error
	return errors.As(err, &e) && e.Class == class
}

// Two formats that read one record as different values have other identities.
func TestDecimalsArePartOfTheIdentity(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for decimals := range MaxDecimals + 1 {
		f := Format{Format: "jsonl", User: "u", Time: "t", TimeUnit: "ms", Value: "v", Decimals: decimals}
		id, err := f.Identity("")
		if err != nil || seen[id.Value] {
			t.Fatalf("%d decimals: %+v, %v", decimals, id, err)
		}
		seen[id.Value] = true
	}
	if !seen[`path "v" of jsonl`] {
		t.Error("without decimals the identity is another one than before")
	}
	for decimals, wrong := range map[int]string{-1: "must be from 0 to 9", 10: "must be from 0 to 9"} {
		f := Format{Format: "jsonl", User: "u", Time: "t", TimeUnit: "ms", Value: "v", Decimals: decimals}
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%d decimals: %v", decimals, err)
		}
	}
	if err := avroOfValue("double", 0).Check(); err == nil || !strings.Contains(err.Error(), "events.decimals") {
		t.Errorf("a double without decimals: %v", err)
	}
	if unit := (Format{Value: "price", Decimals: 2}).ValueUnit(); unit != "0.01" {
		t.Error(unit)
	}
}

// People's numbers are read from columns and from strings of JSON alike. An empty text is not a
// value.
func TestRuleTextsOfValuesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	const none = math.MinInt64
	read := func(comma bool, text string) (values [2]int64, classes [2]string) {
		for i, f := range []Format{{Format: "tsv", Columns: []string{"u", "t", "v"}}, {Format: "jsonl"}} {
			f.User, f.Time, f.TimeUnit, f.Value, f.Decimals, f.DecimalComma = "u", "t", "ms", "v", 2, comma
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			record := []byte("a\t1\t" + text)
			if f.Format == "jsonl" {
				record = fmt.Appendf(nil, `{"u":"a","t":1,"v":%s}`, quoted)
			}
			var e *Error
			if values[i], err = decodeValue(f, record); errors.As(err, &e) {
				values[i], classes[i] = none, e.Class
			}
		}
		return values, classes
	}
	for text, want := range map[string][2]int64{ // with a decimal point, with a decimal comma
		"1,234.56": {123456, none}, "1.234,56": {none, 123456}, "1,234,567": {123456700, none}, "1,234": {123400, 123},
		"1'234": {123400, 123400}, "1’234": {123400, 123400}, "1 234 567": {123456700, 123456700},
		"-1\u00a0234": {-123400, -123400}, "1\u202f234": {123400, 123400},
		"+5": {500, 500}, ".5": {50, none}, ",5": {none, 50}, "-.5": {-50, none}, "5.": {500, none},
		" 12.50 ": {1250, none}, "12,5": {none, 1250},
		"007.5": {750, none}, "000": {0, 0}, "1e2": {10000, 10000}, "1.234": {123, 123400}, "0,125": {none, 13},
		"0.125": {13, none},
		"1,23":  {none, 123}, "1234,567": {none, 123457}, "12,34,567": {none, none}, "1,234'567": {none, none},
		"1,2345": {none, 123}, "1.2.3": {none, none},
		"": {none, none}, " ": {none, none}, "-": {none, none}, ".": {none, none}, "+": {none, none},
		"5k": {none, none}, "(5)": {none, none}, "€5": {none, none},
		"NaN": {none, none}, "inf": {none, none}, "N/A": {none, none}, "--5": {none, none}, "1e": {none, none},
		"0x10": {none, none}, "1 2": {none, none},
	} {
		for i, comma := range []bool{false, true} {
			class := ""
			if want[i] == none {
				if class = ClassBadValue; strings.TrimSpace(text) == "" {
					class = ClassNoValue
				}
			}
			if values, classes := read(comma, text); values != [2]int64{want[i], want[i]} || classes != [2]string{class,
				class} {
				t.Errorf("%q, decimal comma %v: %d %q, want %d %q", text, comma, values, classes, want[i], class)
			}
		}
	}
}

// With skip, a record without a value is skipped; otherwise it is broken. A value that is not a
// number, and a row that is too short, are broken either way.
func TestRuleARecordWithoutAValueIsSkippedOrBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format, record string
		broken, skip   Error
	}{
		{JSONL, `{"u":"a","t":1,"v":null}`, Error{ClassNoValue, "value"}, Error{ClassSkipped, "value"}},
		{JSONL, `{"u":"a","t":1,"v":" "}`, Error{ClassNoValue, "value"}, Error{ClassSkipped, "value"}},
		{JSONL, `{"u":"a","t":1}`, Error{ClassNoValue, "value"}, Error{ClassSkipped, "value"}},
		{JSONL, `{"u":"a","t":1,"v":"N/A"}`, Error{ClassBadValue, "value"}, Error{ClassBadValue, "value"}},
		{JSONL, `{"u":null,"t":1,"v":null}`, Error{ClassNullField, "user"}, Error{ClassNullField, "user"}},
		{CSV, "a,1,", Error{ClassNoValue, "value"}, Error{ClassSkipped, "value"}},
		{CSV, "a,1", Error{ClassMissingField, "value"}, Error{ClassMissingField, "value"}},
		{CSV, "a,1,x", Error{ClassBadValue, "value"}, Error{ClassBadValue, "value"}},
	} {
		for noValue, want := range map[string]Error{"": c.broken, NoValueBroken: c.broken, NoValueSkip: c.skip} {
			f := Format{Format: c.format, User: "u", Time: "t", TimeUnit: "ms", Value: "v", NoValue: noValue}
			if f.Encoding().Tabular() {
				f.Columns = []string{"u", "t", "v"}
			}
			var got *Error
			if _, err := decodeValue(f, []byte(c.record)); !errors.As(err, &got) || *got != want {
				t.Errorf("%q, %s: %v, want %v", noValue, c.record, err, want)
			}
		}
	}
	if err := (Format{Format: JSONL, User: "u", Time: "t", TimeUnit: "ms", NoValue: NoValueSkip}).Check(); err == nil {
		t.Error("values are skipped where there are none")
	}
}
