package schemas

import (
	_ "embed" // the schema
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/linkedin/goavro/v2"
)

//go:embed counts.avsc
var releaseSchema string

// ReleaseSchema returns the Avro schema of published releases.
func ReleaseSchema() string { return releaseSchema }

const (
	registryMagic       = 0 // first byte of the schema registries' framing
	registryPrefixBytes = 5
)

func registryPrefix(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{registryMagic}, id)
}

// releaseCodec compiles the schema once; a goavro codec has no state after that. It is made without
// the annotations of times, see timestampType.
var releaseCodec = sync.OnceValues(func() (*goavro.Codec, error) {
	c, err := goavro.NewCodec(strings.ReplaceAll(releaseSchema, timestampType, `"long"`))
	if err != nil {
		return nil, fmt.Errorf("compiling the schema of releases: %w", err)
	}
	return c, nil
})

// appendAvro writes the fields in Avro's binary encoding, which the specification fixes to the
// byte: no later goavro can write primitive fields in another way.
func (r *Release) appendAvro(dst []byte) ([]byte, error) {
	codec, err := releaseCodec()
	if err != nil {
		return nil, err
	}
	f := r.derived()
	// goavro ignores a misspelled name here without an error: a test compares the bytes.
	b, err := codec.BinaryFromNative(dst, map[string]any{
		"metric": r.Metric, "window_start": r.WindowStart, "window_end": r.WindowEnd, "key": r.Key,
		"value": r.Count(), "stddev": r.StdDev, "low": r.Low, "high": r.High, "confidence": r.Confidence,
		"met": r.Met, "rungs": int32(r.Rungs), "precision": r.Precision.Float(), "value_1024ths": r.Value,
		"precision_units": f.precisionUnits, "turn": int64(r.Turn), "generation": int64(r.Generation),
		"metric_digest": f.digest, "noise_key_id": r.NoiseKeyID,
	})
	if err != nil {
		// goavro's texts may quote values.
		return nil, invalid(KindRelease, "refused by Avro")
	}
	return b, nil
}

func decodeReleaseRegistry(b []byte) (Release, CountsEncoding, error) {
	enc := CountsEncoding{Format: CountsAvro}
	if len(b) < registryPrefixBytes {
		return Release{}, enc, malformed(KindRelease, "cut off")
	}
	enc.SchemaID = binary.BigEndian.Uint32(b[1:])
	if what := enc.check(); what != "" {
		return Release{}, enc, malformed(KindRelease, what)
	}
	r, err := decodeReleaseAvro(b[registryPrefixBytes:])
	return r, enc, err
}

// decodeReleaseAvro reads the fields. DecodeRelease checks those that follow from others, and that
// every number is in its shortest form.
func decodeReleaseAvro(b []byte) (Release, error) {
	codec, err := releaseCodec()
	if err != nil {
		return Release{}, err
	}
	decoded, rest, err := codec.NativeFromBinary(b)
	fields, ok := decoded.(map[string]any)
	if err != nil || !ok || len(rest) != 0 {
		return Release{}, malformed(KindRelease, "not the Avro encoding of its schema, or bytes left over")
	}
	n := native{fields: fields}
	r := Release{
		Metric: fieldOf[string](&n, "metric"), Key: fieldOf[string](&n, "key"),
		WindowStart: fieldOf[int64](&n, "window_start"), WindowEnd: fieldOf[int64](&n, "window_end"),
		Value: fieldOf[int64](&n, "value_1024ths"), StdDev: fieldOf[float64](&n, "stddev"),
		Low: fieldOf[float64](&n, "low"), High: fieldOf[float64](&n, "high"),
		Confidence: fieldOf[float64](&n, "confidence"), Met: fieldOf[bool](&n, "met"),
		NoiseKeyID: fieldOf[string](&n, "noise_key_id"),
	}
	rungs, turn, generation := fieldOf[int32](&n, "rungs"), fieldOf[int64](&n, "turn"), fieldOf[int64](&n, "generation")
	f := derived{fieldOf[string](&n, "precision_units"), fieldOf[string](&n, "metric_digest")}
	switch {
	case n.missing != "":
		return Release{}, malformed(KindRelease, n.missing+" is missing or of another type")
	case rungs < 1 || turn < 0 || generation < 0 || generation > math.MaxUint32:
		return Release{}, malformed(KindRelease, "a number out of range")
	}
	r.Rungs, r.Turn, r.Generation = uint32(rungs), uint64(turn), uint32(generation)
	if what := r.setDerived(f); what != "" {
		return Release{}, malformed(KindRelease, what)
	}
	return r, nil
}
