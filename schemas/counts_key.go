package schemas

import (
	"strings"
	"unicode/utf8"
)

// ReleaseKey is the Kafka key of a release. It identifies the release's cell without the window's
// end, because a metric's window size never changes. The value of a cell never changes either.
type ReleaseKey struct {
	Metric      string
	WindowStart int64 // Unix milliseconds
	Key         string
}

// keySeparator separates the parts of a release's key. Only the last part may contain the separator
// (see ValidateMetricName).
const keySeparator = "|"

// EncodeReleaseKey returns the Kafka key of a release as text: the metric, the window's start in
// RFC 3339 with Z, and the metric's key, as in views|2025-03-01T00:00:00Z|/home. Different
// arguments give different bytes, provided that ValidateMetricName accepts the metrics.
func EncodeReleaseKey(metric string, windowStart int64, key []byte) []byte {
	dst := make([]byte, 0, len(metric)+len(key)+32)
	dst = append(append(dst, metric...), keySeparator...)
	dst = append(append(dst, formatMillis(windowStart)...), keySeparator...)
	return append(dst, key...)
}

// DecodeReleaseKey is the inverse of EncodeReleaseKey for metrics and keys that pass
// ValidateMetricName and ValidateKey. Errors: ErrMalformed.
func DecodeReleaseKey(b []byte) (ReleaseKey, error) {
	parts := strings.SplitN(string(b), keySeparator, 3)
	if len(parts) != 3 {
		return ReleaseKey{}, malformed(KindReleaseKey,
			"not a metric, a time and a key with "+keySeparator+" between them")
	}
	k := ReleaseKey{Metric: parts[0], Key: parts[2]}
	var ok bool
	if k.WindowStart, ok = parseMillis(parts[1]); !ok {
		return ReleaseKey{}, malformed(KindReleaseKey, "window start: not a time in RFC 3339")
	}
	if len(k.Metric) > maxTextBytes || len(k.Key) > MaxKeyBytes || !utf8.Valid(b) {
		return ReleaseKey{}, malformed(KindReleaseKey, "too long or not UTF-8")
	}
	return k, nil
}
