package schemas

import (
	_ "embed" // the schema
	"encoding/binary"
	"math"
)

//go:embed release.avsc
var releaseSchema string

// ReleaseSchema returns the Avro schema with which releases are published.
func ReleaseSchema() string { return releaseSchema }

const (
	// releaseFingerprint is the CRC-64-AVRO of the schema's parsing canonical form (Avro 1.11
	// specification, "Schema fingerprints"). A changed schema is a new version of the format.
	releaseFingerprint = 0xa4f68dfc1446dfb7

	objectMagic0, objectMagic1 = 0xC3, 0x01 // of the single-object encoding
	objectPrefixBytes          = 10

	registryMagic       = 0 // of the schema registries' framing
	registryPrefixBytes = 5
)

func singleObject() []byte {
	return binary.LittleEndian.AppendUint64([]byte{objectMagic0, objectMagic1}, releaseFingerprint)
}

func registryPrefix(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{registryMagic}, id)
}

// appendAvro writes the fields in the order of the schema, in Avro's binary encoding.
func (r *Release) appendAvro(dst []byte) []byte {
	f := r.derived()
	dst = appendAvroText(dst, r.Metric)
	dst = binary.AppendVarint(dst, r.WindowStart)
	dst = binary.AppendVarint(dst, r.WindowEnd)
	dst = appendAvroText(dst, r.Key)
	for _, v := range [...]float64{r.Count(), r.StdDev, r.Low, r.High, r.Confidence} {
		dst = appendAvroDouble(dst, v)
	}
	dst = appendBool(dst, r.Met)
	dst = binary.AppendVarint(dst, int64(r.Rungs))
	dst = appendAvroDouble(dst, r.Precision.Float())
	dst = binary.AppendVarint(dst, r.Value)
	dst = appendAvroText(dst, f.precisionUnits)
	dst = binary.AppendVarint(dst, int64(r.Turn))
	dst = binary.AppendVarint(dst, int64(r.Generation))
	dst = appendAvroText(dst, f.digest)
	return appendAvroText(dst, r.NoiseKeyID)
}

func appendAvroText(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

func appendAvroDouble(dst []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

func decodeReleaseObject(b []byte) (Release, error) {
	if len(b) < objectPrefixBytes {
		return Release{}, malformed(KindRelease, "cut off")
	}
	if binary.LittleEndian.Uint64(b[2:]) != releaseFingerprint {
		return Release{}, &MalformedError{Kind: KindRelease, What: "written with another schema", cause: ErrVersion}
	}
	return decodeReleaseAvro(b[objectPrefixBytes:])
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

// decodeReleaseAvro reads the fields. DecodeRelease checks those that follow from others.
func decodeReleaseAvro(b []byte) (Release, error) {
	d := &wireDecoder{rest: b, kind: KindRelease}
	var r Release
	var f derived
	r.Metric = d.avroText("metric")
	r.WindowStart, r.WindowEnd = d.varint("window_start"), d.varint("window_end")
	r.Key = d.avroText("key")
	_ = d.avroDouble("value")
	for _, v := range [...]*float64{&r.StdDev, &r.Low, &r.High, &r.Confidence} {
		*v = d.avroDouble("a number")
	}
	r.Met = d.bool("met")
	rungs := d.varint("rungs")
	_ = d.avroDouble("precision")
	r.Value = d.varint("value_1024ths")
	f.precisionUnits = d.avroText("precision_units")
	turn, generation := d.varint("turn"), d.varint("generation")
	f.digest, r.NoiseKeyID = d.avroText("metric_digest"), d.avroText("noise_key_id")
	if err := d.finish(); err != nil {
		return Release{}, err
	}
	if rungs < 1 || rungs > math.MaxInt32 || turn < 0 || generation < 0 || generation > math.MaxUint32 {
		return Release{}, malformed(KindRelease, "a number out of range")
	}
	r.Rungs, r.Turn, r.Generation = uint32(rungs), uint64(turn), uint32(generation)
	if what := r.setDerived(f); what != "" {
		return Release{}, malformed(KindRelease, what)
	}
	return r, nil
}

func (d *wireDecoder) avroText(what string) string {
	n := d.varint(what)
	if n < 0 || n > maxTextBytes {
		d.fail(what + ": of an impossible length")
		return ""
	}
	return string(d.take(int(n), what))
}

func (d *wireDecoder) avroDouble(what string) float64 {
	b := d.take(8, what)
	if len(b) == 0 {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}
