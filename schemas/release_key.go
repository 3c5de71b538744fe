package schemas

import "encoding/binary"

// ReleaseKey is the Kafka key of a release: the cell whose count it is. A cell has one value for
// ever.
type ReleaseKey struct {
	Metric                 string
	WindowStart, WindowEnd int64 // Unix milliseconds
	Key                    string
}

// EncodeReleaseKey encodes the Kafka key of a release. Different arguments give different bytes.
func EncodeReleaseKey(metric string, windowStart, windowEnd int64, key []byte) []byte {
	dst := make([]byte, 0, preambleBytes+len(metric)+len(key)+24)
	dst = appendPreamble(dst, KindReleaseKey)
	dst = appendString(dst, metric)
	dst = binary.AppendVarint(dst, windowStart)
	dst = binary.AppendVarint(dst, windowEnd)
	return appendBytes(dst, key)
}

// DecodeReleaseKey is the inverse of EncodeReleaseKey for keys that pass ValidateKey. Errors:
// ErrMalformed, ErrVersion.
func DecodeReleaseKey(b []byte) (ReleaseKey, error) {
	d := newWireDecoder(b, KindReleaseKey)
	k := ReleaseKey{Metric: d.text("metric"), WindowStart: d.varint("window start"),
		WindowEnd: d.varint("window end"), Key: string(d.bytes("key", MaxKeyBytes))}
	if err := d.finish(); err != nil {
		return ReleaseKey{}, err
	}
	return k, nil
}
