package schemas

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state"
)

func someRelease() Release {
	return Release{Turn: 5, Generation: 1, Metric: "views", WindowStart: 1700000000000, WindowEnd: 1700000060500,
		Key: `a"<é`, Value: -1234567, StdDev: 10.5, Low: -1300.25, High: -1100, Precision: state.Precision{Hi: 65536},
		Confidence: 0.95, Met: true, Rungs: 3, NoiseKeyID: "k1"}
}

func TestTheJSONOfARelease(t *testing.T) {
	b, err := json.Marshal(someRelease())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metric":"views","window_start":"2023-11-14T22:13:20Z","window_end":"2023-11-14T22:14:20.5Z",` +
		`"key":"a\"\u003cé","value":-1205.6318359375,"stddev":10.5,"low":-1300.25,"high":-1100,"confidence":0.95,` +
		`"met":true,"rungs":3,"precision":1}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
	bad := someRelease()
	bad.Low = math.NaN()
	if _, err := json.Marshal(bad); !errors.Is(err, ErrInvalid) {
		t.Error("NaN was written:", err)
	}
}

func TestValuesAreWrittenExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5000, 5000), rapid.Just(int64(math.MinInt64))).Draw(t, "v")
		text := FormatValue(v)
		got, ok := new(big.Rat).SetString(text)
		if !ok || got.Cmp(big.NewRat(v, 1024)) != 0 {
			t.Fatalf("%d/1024 is written %s", v, text)
		}
		if !json.Valid([]byte(text)) || strings.Contains(text, ".") && strings.HasSuffix(text, "0") {
			t.Fatalf("%s is no short JSON number", text)
		}
	})
}

// goavro takes a misspelled field for a missing one only where there is no default, and ignores
// fields it does not know.
func TestTheSchemaHasNoDefaultsNoUnionsAndADocForEveryField(t *testing.T) {
	var schema struct {
		Doc    string
		Fields []struct {
			Name, Doc string
			Type      any
			Default   json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(ReleaseSchema()), &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Doc == "" || len(schema.Fields) != 16 {
		t.Error("schema without doc, or another number of fields")
	}
	for _, f := range schema.Fields {
		if _, union := f.Type.([]any); union || f.Default != nil || f.Doc == "" {
			t.Errorf("field %s: a union, a default or no doc", f.Name)
		}
	}
	// Every field of a release arrives under its own name.
	b, err := EncodeRelease(someRelease())
	if err != nil {
		t.Fatal(err)
	}
	codec, err := releaseCodec()
	if err != nil {
		t.Fatal(err)
	}
	native, _, err := codec.NativeFromSingle(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range schema.Fields {
		if _, ok := native.(map[string]any)[f.Name]; !ok {
			t.Errorf("field %s is not there", f.Name)
		}
	}
}

func TestAReleaseOfAnotherSchemaIsAnotherVersion(t *testing.T) {
	if strings.Count(ReleaseSchema(), timestampType) != 2 || strings.Count(ReleaseSchema(), "logicalType") != 2 {
		t.Error("the two times are not annotated as timestampType is written")
	}
	other, err := goavro.NewCodec(strings.Replace(ReleaseSchema(), `"name": "rungs"`, `"name": "steps"`, 1))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := releaseCodec()
	if err != nil {
		t.Fatal(err)
	}
	b, err := EncodeRelease(someRelease())
	if err != nil {
		t.Fatal(err)
	}
	if binary.LittleEndian.Uint64(b[2:10]) != ours.Rabin {
		t.Error("the encoding does not begin with the schema's fingerprint")
	}
	binary.LittleEndian.PutUint64(b[2:10], other.Rabin)
	if _, err := DecodeRelease(b); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
	if got, want := ours.Rabin, uint64(releaseFingerprint); got != want {
		t.Errorf("fingerprint %#x, was %#x: a changed schema is a new version and the old one must stay readable", got, want)
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
		if _, err := EncodeRelease(r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The same from the other side: Avro itself takes a negative turn, no rung, any text.
	codec, err := releaseCodec()
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]any{"metric": "m", "window_start": 0, "window_end": 0, "key": "k", "value": 0, "stddev": 1.0,
		"low": 0.0, "high": 0.0, "confidence": 0.5, "met": true, "rungs": 1, "precision": make([]byte, 16), "turn": 1,
		"generation": 0, "metric_digest": make([]byte, 32), "noise_key_id": ""}
	for name, value := range map[string]any{"": nil, "turn": -1, "rungs": 0, "generation": 1 << 32, "key": "\xff", "low": math.NaN()} {
		bad := make(map[string]any)
		for k, v := range good {
			bad[k] = v
		}
		if name != "" {
			bad[name] = value
		}
		b, err := codec.SingleFromNative(nil, bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeRelease(b); (err == nil) != (name == "") || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func BenchmarkEncodeRelease(b *testing.B) {
	r := someRelease()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := EncodeRelease(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeRelease(b *testing.B) {
	enc, err := EncodeRelease(someRelease())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeRelease(enc); err != nil {
			b.Fatal(err)
		}
	}
}

// releaseFingerprint is the CRC-64-AVRO of version 1's canonical form, computed from the
// specification by a program of its own, not by goavro.
const releaseFingerprint = 0x6a33790a1c1af8d9
