package schemas

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/units"
)

func someRelease() Release {
	return Release{Turn: 5, Generation: 1, Metric: "views", WindowStart: 1700000000000, WindowEnd: 1700000060500,
		Key: `a"<é`, Value: -1234567, StdDev: 10.5, Low: -1300.25, High: -1100, Precision: units.Precision{Hi: 65536},
		Confidence: 0.95, Met: true, Rungs: 3, NoiseKeyID: "k1"}
}

func TestTheJSONOfARelease(t *testing.T) {
	b, err := inJSON(someRelease())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metric":"views","window_start":"2023-11-14T22:13:20Z","window_end":"2023-11-14T22:14:20.5Z",` +
		`"key":"a\"<é","value":-1205.6318359375,"stddev":10.5,"low":-1300.25,"high":-1100,"confidence":0.95,` +
		`"met":true,"rungs":3,"precision":1,"value_1024ths":-1234567,"precision_units":"1208925819614629174706176",` +
		`"turn":5,"generation":1,"metric_digest":"` + strings.Repeat("0", 64) + `","noise_key_id":"k1"}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
	// The printed form is the beginning of the form on counts.
	printed, err := someRelease().MarshalJSON()
	if beginning, _, _ := strings.Cut(want, `,"value_1024ths"`); err != nil || string(printed) != beginning+"}" {
		t.Errorf("%s, %v", printed, err)
	}
	bad := someRelease()
	bad.Low = math.NaN()
	if _, err := json.Marshal(bad); !errors.Is(err, ErrInvalid) {
		t.Error("NaN was written:", err)
	}
}

func inJSON(r Release) ([]byte, error) { return EncodeRelease(CountsEncoding{Format: CountsJSON}, r) }

// The same bytes are refused in any other form.
func TestJSONOfAReleaseInAnotherFormIsRefused(t *testing.T) {
	b, err := inJSON(someRelease())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		old, new string
		is       error
	}{
		"a space":           {`{"metric"`, `{ "metric"`, ErrMalformed},
		"another order":     {`"met":true,"rungs":3`, `"rungs":3,"met":true`, ErrMalformed},
		"a name twice":      {`"met":true`, `"met":true,"met":true`, ErrMalformed},
		"another case":      {`"met":true`, `"Met":true`, ErrVersion},
		"unknown":           {`"met":true`, `"met":true,"more":1`, ErrVersion},
		"missing":           {`"met":true,`, ``, ErrVersion},
		"another type":      {`"met":true`, `"met":"true"`, ErrMalformed},
		"null":              {`"met":true`, `"met":null`, ErrMalformed},
		"value":             {`-1205.6318359375`, `-1205.6318359376`, ErrMalformed},
		"more digits":       {`-1205.6318359375`, `-1205.63183593750`, ErrMalformed},
		"1024ths":           {`-1234567`, `-1234568`, ErrMalformed},
		"precision":         {`"precision":1,`, `"precision":2,`, ErrMalformed},
		"precision units":   {`1208925819614629174706176`, `1208925819614629174706177000`, ErrMalformed},
		"units too great":   {`1208925819614629174706176`, `340282366920938463463374607431768211456`, ErrMalformed},
		"units negative":    {`1208925819614629174706176`, `-1`, ErrMalformed},
		"NaN":               {`10.5`, `NaN`, ErrMalformed},
		"infinite":          {`10.5`, `1e999`, ErrMalformed},
		"no rung":           {`"rungs":3`, `"rungs":0`, ErrMalformed},
		"turn":              {`"turn":5`, `"turn":9223372036854775808`, ErrMalformed},
		"generation":        {`"generation":1`, `"generation":4294967296`, ErrMalformed},
		"digest":            {strings.Repeat("0", 64), strings.Repeat("0", 63) + "g", ErrMalformed},
		"digest in capital": {strings.Repeat("0", 64), strings.Repeat("0", 63) + "A", ErrMalformed},
		"another zone":      {`22:13:20Z`, `23:13:20+01:00`, ErrMalformed},
		"time":              {`2023-11-14T22:13:20Z`, `yesterday`, ErrMalformed},
		"escape":            {`"views"`, `"vi\u0065ws"`, ErrMalformed},
		"metric":            {`"views"`, `"vi|ws"`, ErrMalformed},
		"not UTF-8":         {`"views"`, "\"vi\xffws\"", ErrMalformed},
		"a second object":   {`"k1"}`, `"k1"}{}`, ErrMalformed},
		"a line end":        {`"k1"}`, "\"k1\"}\n", ErrMalformed},
	} {
		other := strings.Replace(string(b), c.old, c.new, 1)
		if other == string(b) {
			t.Fatal(name, "changes nothing")
		}
		if _, err := DecodeRelease([]byte(other)); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMillisecondsOfAllYears(t *testing.T) {
	for _, ms := range []int64{0, -1, 951782400000, 253402300800000, -62135596800001, -62167219200001, math.MinInt64,
		math.MaxInt64} {
		if got, ok := parseMillis(formatMillis(ms)); !ok || got != ms {
			t.Errorf("%s: %d, %v, want %d", formatMillis(ms), got, ok, ms)
		}
	}
	for _, text := range []string{"", "-", "--", "2023-02-29T00:00:00Z", "+2023-03-01T00:00:00Z",
		"02023-03-01T00:00:00Z", "2023-03-01T00:00:00.000Z",
		"2023-03-01T00:00:00.0005Z", "2023-03-01t00:00:00Z", "2023-03-01T00:00:00+00:00",
		"9999999999999999999-03-01T00:00:00Z"} {
		if ms, ok := parseMillis(text); ok {
			t.Errorf("%q is %d", text, ms)
		}
	}
}

func TestValuesAreWrittenExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5000, 5000), rapid.Just(int64(math.MinInt64))).Draw(t, "v")
		text := string(appendValue(nil, v))
		got, ok := new(big.Rat).SetString(text)
		if !ok || got.Cmp(big.NewRat(v, 1024)) != 0 {
			t.Fatalf("%d/1024 is written %s", v, text)
		}
		if !json.Valid([]byte(text)) || strings.Contains(text, ".") && strings.HasSuffix(text, "0") {
			t.Fatalf("%s is no short JSON number", text)
		}
	})
}

func nativeOf(r Release) map[string]any {
	return map[string]any{"metric": r.Metric, "window_start": r.WindowStart, "window_end": r.WindowEnd, "key": r.Key,
		"value": float64(r.Value) / 1024, "stddev": r.StdDev, "low": r.Low, "high": r.High, "confidence": r.Confidence,
		"met": r.Met, "rungs": int32(r.Rungs), "precision": r.Precision.Float(), "value_1024ths": r.Value,
		"precision_units": r.Precision.Big().String(), "turn": int64(r.Turn), "generation": int64(r.Generation),
		"metric_digest": hex.EncodeToString(r.MetricDigest[:]), "noise_key_id": r.NoiseKeyID}
}

func TestTheSchemaOfReleasesIsOfItsVersion(t *testing.T) {
	codec, err := releaseCodec()
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(0xa4f68dfc1446dfb7); codec.Rabin != want {
		t.Errorf("the schema's fingerprint is %#x: a changed schema is a new version", codec.Rabin)
	}
	version := fmt.Sprintf("One released count: version %d.", countsVersion)
	if !strings.Contains(ReleaseSchema(), version) {
		t.Errorf("the schema does not say %q", version)
	}
}

func TestReleasesOutOfRangeAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Release){
		"turn":       func(r *Release) { r.Turn = 1 << 63 },
		"no rung":    func(r *Release) { r.Rungs = 0 },
		"rungs":      func(r *Release) { r.Rungs = 1 << 31 },
		"stddev":     func(r *Release) { r.StdDev = math.Inf(1) },
		"confidence": func(r *Release) { r.Confidence = math.NaN() },
		"key":        func(r *Release) { r.Key = "\xff" },
		"long key":   func(r *Release) { r.Key = strings.Repeat("k", MaxKeyBytes+1) },
		"metric":     func(r *Release) { r.Metric = "\xff" },
		"noise key":  func(r *Release) { r.NoiseKeyID = "\xff" },
	} {
		r := someRelease()
		change(&r)
		if _, err := EncodeRelease(CountsEncoding{CountsAvro, 7}, r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The same from the other side: Avro itself takes a negative turn, no rung, any text.
	codec, err := releaseCodec()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{"": nil, "turn": -1, "rungs": 0, "generation": 1 << 32, "key": "\xff",
		"low":   math.NaN(),
		"value": 17.5, "precision": 2.5, "precision_units": "x", "metric_digest": "00", "metric": "a|b"} {
		bad := nativeOf(someRelease())
		if name != "" {
			bad[name] = value
		}
		b, err := codec.BinaryFromNative([]byte{0, 0, 0, 0, 7}, bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeRelease(b); (err == nil) != (name == "") || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, enc := range []CountsEncoding{{}, {Format: "xml"}, {Format: CountsAvro}, {CountsAvro, 1 << 31},
		{CountsJSON, 1}} {
		if _, err := EncodeRelease(enc, someRelease()); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", enc, err)
		}
	}
}
