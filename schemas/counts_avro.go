package schemas

import (
	_ "embed" // the schema
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/linkedin/goavro/v2"
)

//go:embed counts.avsc
var releaseSchema string

// ReleaseSchema returns the Avro schema of releases on the counts topic.
func ReleaseSchema() string { return releaseSchema }

const (
	// RegistryBytes is the length of the prefix that schema registries require before a record.
	RegistryBytes = 5
	registryMagic = 0 // first byte of the prefix
)

// AppendRegistry appends the prefix that schema registries require before a record: a zero byte and
// the schema's id in four big-endian bytes.
func AppendRegistry(dst []byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, registryMagic), id)
}

// timestampType is the type of a time in the schema. goavro 2.15 computes a wrong canonical form
// for logical types, and so a fingerprint that no other reader's schema store would contain. The
// codec is therefore compiled without the annotation, which does not affect the bytes.
const timestampType = `{"type": "long", "logicalType": "timestamp-millis"}`

// releaseCodec compiles the schema once. A compiled goavro codec is stateless.
var releaseCodec = sync.OnceValues(func() (*goavro.Codec, error) {
	c, err := goavro.NewCodec(strings.ReplaceAll(releaseSchema, timestampType, `"long"`))
	if err != nil {
		return nil, fmt.Errorf("compiling the schema of releases: %w", err)
	}
	return c, nil
})

// appendAvro appends the fields in Avro's binary encoding. The Avro specification fixes every byte,
// so later versions of goavro write the same bytes.
func (r *Release) appendAvro(dst []byte) ([]byte, error) {
	codec, err := releaseCodec()
	if err != nil {
		return nil, err
	}
	// goavro silently ignores a misspelled name, so a test compares the bytes.
	b, err := codec.BinaryFromNative(dst, map[string]any{
		"metric": r.Metric, "window_start": r.WindowStart, "window_end": r.WindowEnd, "key": r.Key,
		"value": r.Count(), "stddev": r.StdDev, "low": r.Low, "high": r.High, "confidence": r.Confidence,
		"met": r.Met, "rungs": int32(r.Rungs), "precision": r.Precision.Float(), "value_1024ths": r.Value,
		"precision_units": r.Precision.Big().String(), "turn": int64(r.Turn), "generation": int64(r.Generation),
		"metric_digest": hex.EncodeToString(r.MetricDigest[:]), "noise_key_id": r.NoiseKeyID,
	})
	if err != nil {
		// goavro's error is dropped because its text may quote values.
		return nil, invalid(KindRelease, "rejected by Avro")
	}
	return b, nil
}

func readReleaseAvro(b []byte) (*releaseFields, CountsEncoding, error) {
	enc := CountsEncoding{Format: CountsAvro}
	if len(b) < RegistryBytes {
		return nil, enc, malformed(KindRelease, "truncated")
	}
	enc.SchemaID = binary.BigEndian.Uint32(b[1:])
	if what := enc.check(); what != "" {
		return nil, enc, malformed(KindRelease, what)
	}
	codec, err := releaseCodec()
	if err != nil {
		return nil, enc, err
	}
	decoded, rest, err := codec.NativeFromBinary(b[RegistryBytes:])
	native, ok := decoded.(map[string]any)
	if err != nil || !ok || len(rest) != 0 {
		return nil, enc, malformed(KindRelease, "not the Avro encoding of its schema, or bytes left over")
	}
	return &releaseFields{native: native}, enc, nil
}
