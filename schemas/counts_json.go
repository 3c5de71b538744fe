package schemas

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MarshalJSON returns the JSON that commands print: the first twelve fields of the format
// CountsJSON, with the same bytes. Counts are exact decimals, times are in RFC 3339 with Z, and the
// precision is in 1/count². MarshalJSON fails whenever EncodeRelease fails.
func (r Release) MarshalJSON() ([]byte, error) { return r.JSON("") }

// JSON returns the result of MarshalJSON with an additional field for valueUnit, unless that is "".
func (r Release) JSON(valueUnit string) ([]byte, error) {
	if what := r.check(); what != "" {
		return nil, invalid(KindRelease, what)
	}
	o := r.printed(nil)
	if valueUnit != "" {
		o.text("value_unit", valueUnit)
	}
	return append(o.b, '}'), nil
}

// appendJSON appends a release in the format CountsJSON. It does not use encoding/json, whose
// escapes have changed between releases of Go: a redone turn must give the same bytes.
func (r *Release) appendJSON(dst []byte) []byte {
	o := r.printed(dst)
	o.integer("value_1024ths", r.Value)
	o.text("precision_units", r.Precision.Big().String())
	o.integer("turn", int64(r.Turn))
	o.integer("generation", int64(r.Generation))
	o.text("metric_digest", hex.EncodeToString(r.MetricDigest[:]))
	o.text("noise_key_id", r.NoiseKeyID)
	return append(o.b, '}')
}

// printed appends the fields of MarshalJSON and leaves the object open for further fields.
func (r *Release) printed(dst []byte) jsonObject {
	o := jsonObject{b: append(dst, '{')}
	o.text("metric", r.Metric)
	o.text("window_start", formatMillis(r.WindowStart))
	o.text("window_end", formatMillis(r.WindowEnd))
	o.text("key", r.Key)
	o.name("value")
	o.b = appendValue(o.b, r.Value)
	o.float("stddev", r.StdDev)
	o.float("low", r.Low)
	o.float("high", r.High)
	o.float("confidence", r.Confidence)
	o.name("met")
	o.b = strconv.AppendBool(o.b, r.Met)
	o.integer("rungs", int64(r.Rungs))
	o.float("precision", r.Precision.Float())
	return o
}

// releaseNames holds the names of the fields that appendJSON writes.
var releaseNames = sync.OnceValue(func() (names map[string]json.RawMessage) {
	_ = json.Unmarshal(new(Release).appendJSON(nil), &names) // a test decodes the same output
	return names
})

func readReleaseJSON(b []byte) (*releaseFields, error) {
	var raw map[string]json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return nil, malformed(KindRelease, "not one JSON object")
	}
	for name := range releaseNames() {
		if _, ok := raw[name]; !ok || len(raw) != len(releaseNames()) {
			return nil, &MalformedError{Kind: KindRelease,
				What: "a JSON object whose fields are not those of a release", cause: ErrVersion}
		}
	}
	return &releaseFields{raw: raw}, nil
}

// jsonObject is a JSON object to which fields are appended.
type jsonObject struct{ b []byte }

func (o *jsonObject) name(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

func (o *jsonObject) integer(name string, v int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, v, 10)
}

// float appends a field with the shortest decimal that parses as f, in the notation of JavaScript
// (ECMA-262, Number::toString).
func (o *jsonObject) float(name string, f float64) {
	o.name(name)
	if abs := math.Abs(f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		o.b = strconv.AppendFloat(o.b, f, 'f', -1, 64)
		return
	}
	o.b = strconv.AppendFloat(o.b, f, 'e', -1, 64)
	if n := len(o.b); o.b[n-4] == 'e' && o.b[n-2] == '0' { // a one-digit exponent has no leading zero
		o.b[n-2] = o.b[n-1]
		o.b = o.b[:n-1]
	}
}

// text appends a field with s, which must be valid UTF-8. It uses only the escapes that JSON
// requires.
func (o *jsonObject) text(name, s string) {
	const digits = "0123456789abcdef"
	o.name(name)
	o.b = append(o.b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			o.b = append(o.b, '\\', c)
		case c < ' ':
			o.b = append(o.b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			o.b = append(o.b, c)
		}
	}
	o.b = append(o.b, '"')
}

func formatMillis(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }

// parseMillis is the inverse of formatMillis. It also parses years outside RFC 3339, since the
// calendar repeats every 400 years.
func parseMillis(text string) (ms int64, ok bool) {
	const cycle = 146097 * 24 * 60 * 60 * 1000 // 400 years in milliseconds
	dash := strings.LastIndex(text, "-")
	if dash = strings.LastIndex(text[:max(dash, 0)], "-"); dash <= 0 {
		return 0, false
	}
	year, err := strconv.ParseInt(text[:dash], 10, 64)
	if err != nil {
		return 0, false
	}
	inCycle := 2000 + (year%400+400)%400
	t, err := time.Parse(time.RFC3339Nano, strconv.FormatInt(inCycle, 10)+text[dash:])
	if err != nil {
		return 0, false
	}
	ms = t.UnixMilli() + (year-inCycle)/400*cycle
	return ms, formatMillis(ms) == text
}

// appendValue appends v, in units of 2^-10, as an exact decimal without trailing zeros.
func appendValue(dst []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		dst, u = append(dst, '-'), -u
	}
	dst = strconv.AppendUint(dst, u>>10, 10)
	fraction := u & 1023 * 9765625 // 2^-10 is 9765625 units of 10^-10
	if fraction == 0 {
		return dst
	}
	dst = append(dst, '.')
	for ; fraction > 0; fraction = fraction * 10 % 1e10 {
		dst = append(dst, '0'+byte(fraction/1e9))
	}
	return dst
}
