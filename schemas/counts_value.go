package schemas

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/state/units"
)

// HeaderType is the Kafka header with the kind of a counts record; TypeRelease is its only value.
const (
	HeaderType  = "tollgate-type"
	TypeRelease = "release"
)

// Release is one released count.
type Release struct {
	Turn                   uint64 // at most 2^63−1
	Generation             uint32
	Metric                 string // does not contain '|'
	MetricDigest           [32]byte
	WindowStart, WindowEnd int64 // Unix milliseconds
	Key                    string
	Value                  int64 // in units of 2^-10 counts
	StdDev, Low, High      float64
	Precision              units.Precision // 1/variance
	Confidence             float64
	Met                    bool
	Rungs                  uint32 // 1 to 2^31−1
	NoiseKeyID             string
}

// Count returns Value in counts. The result is exact below 2^43 and rounded above.
func (r *Release) Count() float64 { return math.Ldexp(float64(r.Value), -10) }

func (r *Release) check() string {
	for _, f := range [...]float64{r.StdDev, r.Low, r.High, r.Confidence} {
		if !finite(f) {
			return "a number is not finite"
		}
	}
	switch {
	case r.Turn > math.MaxInt64:
		return "turn out of range"
	case r.Rungs < 1 || r.Rungs > math.MaxInt32:
		return "rungs out of range"
	case len(r.Key) > MaxKeyBytes || !utf8.ValidString(r.Key):
		return "key too long or not UTF-8"
	case len(r.Metric) > maxTextBytes || !utf8.ValidString(r.Metric) || strings.Contains(r.Metric, keySeparator):
		return "metric too long, not UTF-8, or contains " + keySeparator
	case len(r.NoiseKeyID) > maxTextBytes || !utf8.ValidString(r.NoiseKeyID):
		return "noise key id too long or not UTF-8"
	}
	return ""
}

// EncodeRelease encodes a release as a value of the counts topic. The bytes depend only on the
// arguments, so that a later version of the program that redoes a turn writes the same bytes.
// Errors: ErrInvalid (an encoding that is not valid, a number that is out of range or not finite, a
// text that is too long or not UTF-8).
func EncodeRelease(enc CountsEncoding, r Release) ([]byte, error) {
	if what := enc.check(); what != "" {
		return nil, invalid(KindRelease, what)
	}
	if what := r.check(); what != "" {
		return nil, invalid(KindRelease, what)
	}
	return r.append(make([]byte, 0, 512), enc)
}

func (r *Release) append(dst []byte, enc CountsEncoding) ([]byte, error) {
	if enc.Format == CountsJSON {
		return r.appendJSON(dst), nil
	}
	return r.appendAvro(AppendRegistry(dst, enc.SchemaID))
}

// DecodeRelease is the inverse of EncodeRelease for every encoding; the first byte shows which one
// it is. DecodeRelease accepts only bytes that EncodeRelease produces. Errors: ErrMalformed;
// ErrVersion if a JSON object has other fields.
func DecodeRelease(b []byte) (Release, error) {
	var fields *releaseFields
	var enc CountsEncoding
	var err error
	switch {
	case len(b) > 0 && b[0] == '{':
		enc.Format = CountsJSON
		fields, err = readReleaseJSON(b)
	case len(b) > 0 && b[0] == registryMagic:
		fields, enc, err = readReleaseAvro(b)
	default:
		err = malformed(KindRelease, "its first byte is not that of any format of counts")
	}
	if err != nil {
		return Release{}, err
	}
	r, what := fields.release()
	if what = cmp.Or(what, r.check()); what != "" {
		return Release{}, malformed(KindRelease, what)
	}
	// Only the bytes that EncodeRelease would write are accepted. This comparison also checks
	// redundant fields, such as value, which follows from value_1024ths.
	if encoded, err := r.append(make([]byte, 0, len(b)), enc); err != nil || !bytes.Equal(encoded, b) {
		return Release{}, malformed(KindRelease,
			"its fields contradict each other, or differ in form from those that this program writes")
	}
	return r, nil
}

// releaseFields holds the fields of a release before conversion to a Release.
type releaseFields struct {
	native map[string]any             // Avro, as decoded by goavro
	raw    map[string]json.RawMessage // JSON; nil for Avro
	fault  string                     // the first fault
}

// fieldOf returns a field. If the field is missing or has another type, fieldOf records a fault.
func fieldOf[T any](f *releaseFields, name string) (v T) {
	ok := false
	if f.raw == nil {
		v, ok = f.native[name].(T)
	} else {
		decoded := new(T)
		ok = json.Unmarshal(f.raw[name], decoded) == nil
		v = *decoded
	}
	if !ok {
		f.fault = cmp.Or(f.fault, name+" is missing or has another type")
	}
	return v
}

// millis returns a time field in Unix milliseconds; JSON contains times as text.
func (f *releaseFields) millis(name string) int64 {
	if f.raw == nil {
		return fieldOf[int64](f, name)
	}
	ms, ok := parseMillis(fieldOf[string](f, name))
	if !ok {
		f.fault = cmp.Or(f.fault, "a time is not in RFC 3339")
	}
	return ms
}

// release returns the release with these fields, or the first fault.
func (f *releaseFields) release() (r Release, fault string) {
	r = Release{
		Metric: fieldOf[string](f, "metric"), Key: fieldOf[string](f, "key"), WindowStart: f.millis("window_start"),
		WindowEnd: f.millis("window_end"), Value: fieldOf[int64](f, "value_1024ths"),
		StdDev: fieldOf[float64](f, "stddev"), Low: fieldOf[float64](f, "low"), High: fieldOf[float64](f, "high"),
		Confidence: fieldOf[float64](f, "confidence"), Met: fieldOf[bool](f, "met"),
		NoiseKeyID: fieldOf[string](f, "noise_key_id"),
	}
	rungs, turn, generation := fieldOf[int32](f, "rungs"), fieldOf[int64](f, "turn"), fieldOf[int64](f, "generation")
	precision, digest := fieldOf[string](f, "precision_units"), fieldOf[string](f, "metric_digest")
	switch {
	case f.fault != "":
		return r, f.fault
	case rungs < 1 || turn < 0 || generation < 0 || generation > math.MaxUint32:
		return r, "a number out of range"
	}
	r.Rungs, r.Turn, r.Generation = uint32(rungs), uint64(turn), uint32(generation)
	amount, ok := new(big.Int).SetString(precision, 10)
	if !ok || len(precision) > 39 { // 2^128 has 39 digits
		return r, "precision_units is not an integer"
	}
	var err error
	if r.Precision, err = units.PrecisionFromBig(amount); err != nil {
		return r, "precision_units out of range"
	}
	if n, err := hex.Decode(r.MetricDigest[:], []byte(digest[:min(len(digest), 64)])); err != nil || n != 32 {
		return r, "metric_digest is not 32 bytes in hexadecimal"
	}
	return r, ""
}
