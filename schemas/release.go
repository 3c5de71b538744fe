package schemas

import (
	_ "embed" // the schema
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/linkedin/goavro/v2"

	"github.com/tollgate-dp/tollgate/state"
)

// Kinds of records on the counts topic, as the Kafka header HeaderType says.
const (
	HeaderType  = "tollgate-type"
	TypeRelease = "release"
)

// Release is one released count.
type Release struct {
	Turn                   uint64 // at most 2^63−1
	Generation             uint32
	Metric                 string
	MetricDigest           [32]byte
	WindowStart, WindowEnd int64 // Unix milliseconds
	Key                    string
	Value                  int64 // in units of 2^-10 counts
	StdDev, Low, High      float64
	Precision              state.Precision // 1/variance
	Confidence             float64
	Met                    bool
	Rungs                  uint32 // 1 to 2^31−1
	NoiseKeyID             string
}

//go:embed release.avsc
var releaseSchema string

// ReleaseSchema returns the Avro schema with which releases are published.
func ReleaseSchema() string { return releaseSchema }

// timestampType is the type of a time in the schema.
const timestampType = `{"type": "long", "logicalType": "timestamp-millis"}`

// releaseCodec compiles the schema once; a goavro codec has no state after that. goavro 2.15
// reduces a logical type to {"type":"long"} where the specification's canonical form says "long":
// no other reader's schema store would have its fingerprint. The bytes are the same, so the codec
// is made without the annotation.
var releaseCodec = sync.OnceValues(func() (*goavro.Codec, error) {
	c, err := goavro.NewCodec(strings.ReplaceAll(releaseSchema, timestampType, `"long"`))
	if err != nil {
		return nil, fmt.Errorf("compiling release schema: %w", err)
	}
	return c, nil
})

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
	case len(r.Metric) > maxTextBytes || !utf8.ValidString(r.Metric):
		return "metric too long or not UTF-8"
	case len(r.NoiseKeyID) > maxTextBytes || !utf8.ValidString(r.NoiseKeyID):
		return "noise key id too long or not UTF-8"
	}
	return ""
}

// EncodeRelease encodes a release in Avro's single-object encoding: two magic bytes, the
// fingerprint of the schema, the fields. Errors: ErrInvalid (numbers not finite, no rung, a text
// too long or not UTF-8).
func EncodeRelease(r Release) ([]byte, error) {
	if what := r.check(); what != "" {
		return nil, invalid(KindRelease, what)
	}
	codec, err := releaseCodec()
	if err != nil {
		return nil, err
	}
	// goavro ignores a misspelled name here without an error: a test compares the names with the
	// schema.
	b, err := codec.SingleFromNative(make([]byte, 0, 192), map[string]any{
		"metric": r.Metric, "window_start": r.WindowStart, "window_end": r.WindowEnd, "key": r.Key,
		"value": r.Value, "stddev": r.StdDev, "low": r.Low, "high": r.High, "confidence": r.Confidence,
		"met": r.Met, "rungs": int32(r.Rungs), "precision": r.Precision.AppendBinary(make([]byte, 0, state.WideSize)),
		"turn": int64(r.Turn), "generation": int64(r.Generation), "metric_digest": r.MetricDigest[:],
		"noise_key_id": r.NoiseKeyID,
	})
	if err != nil {
		// goavro's texts may quote values.
		return nil, invalid(KindRelease, "refused by Avro")
	}
	return b, nil
}

// DecodeRelease is the inverse of EncodeRelease. goavro resolves no schemas: a fingerprint other
// than that of ReleaseSchema is ErrVersion. Errors: ErrMalformed, ErrVersion.
func DecodeRelease(b []byte) (Release, error) {
	codec, err := releaseCodec()
	if err != nil {
		return Release{}, err
	}
	native, rest, err := codec.NativeFromSingle(b)
	var wrong goavro.ErrWrongCodec
	if errors.As(err, &wrong) {
		return Release{}, &MalformedError{Kind: KindRelease, What: "written with another schema", cause: ErrVersion}
	}
	if err != nil {
		return Release{}, malformed(KindRelease, "not the Avro encoding of its schema")
	}
	if len(rest) != 0 {
		return Release{}, malformed(KindRelease, "bytes left over")
	}
	fields, ok := native.(map[string]any)
	if !ok {
		return Release{}, malformed(KindRelease, "not a record")
	}
	return releaseFromNative(fields)
}

func releaseFromNative(fields map[string]any) (Release, error) {
	n := native{fields: fields}
	r := Release{
		Metric: fieldOf[string](&n, "metric"), Key: fieldOf[string](&n, "key"),
		WindowStart: fieldOf[int64](&n, "window_start"), WindowEnd: fieldOf[int64](&n, "window_end"),
		Value: fieldOf[int64](&n, "value"), StdDev: fieldOf[float64](&n, "stddev"),
		Low: fieldOf[float64](&n, "low"), High: fieldOf[float64](&n, "high"),
		Confidence: fieldOf[float64](&n, "confidence"), Met: fieldOf[bool](&n, "met"),
		NoiseKeyID: fieldOf[string](&n, "noise_key_id"),
	}
	rungs, turn, generation := fieldOf[int32](&n, "rungs"), fieldOf[int64](&n, "turn"), fieldOf[int64](&n, "generation")
	precision, digest := fieldOf[[]byte](&n, "precision"), fieldOf[[]byte](&n, "metric_digest")
	switch {
	case n.missing != "":
		return Release{}, malformed(KindRelease, n.missing+" is missing or of another type")
	case rungs < 1 || turn < 0 || generation < 0 || generation > math.MaxUint32:
		return Release{}, malformed(KindRelease, "a number out of range")
	case len(precision) != state.WideSize || len(digest) != 32:
		return Release{}, malformed(KindRelease, "precision or metric_digest of another size")
	}
	r.Rungs, r.Turn, r.Generation = uint32(rungs), uint64(turn), uint32(generation)
	r.Precision, _ = state.PrecisionFromBytes(precision) // its length was checked
	copy(r.MetricDigest[:], digest)
	if what := r.check(); what != "" {
		return Release{}, malformed(KindRelease, what)
	}
	return r, nil
}

// native is a record as goavro decodes it, with the name of the first field that was missing or of
// another type.
type native struct {
	fields  map[string]any
	missing string
}

func fieldOf[T any](n *native, name string) T {
	v, ok := n.fields[name].(T)
	if !ok && n.missing == "" {
		n.missing = name
	}
	return v
}
