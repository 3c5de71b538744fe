package schemas

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MarshalJSON writes what a reader of results needs, as a program prints it: the first twelve
// fields of a value of counts in the format CountsJSON, with the same bytes. Counts are exact
// decimals, times RFC 3339 with Z, the precision is in 1/count². It fails where EncodeRelease
// would.
func (r Release) MarshalJSON() ([]byte, error) { return r.JSON("") }

// JSON is MarshalJSON with the unit of the events' values in a further field, unless it is "".
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

// releaseFields are the fields of a value of counts in JSON, in their order.
type releaseFields struct {
	Metric         string      `json:"metric"`
	WindowStart    string      `json:"window_start"`
	WindowEnd      string      `json:"window_end"`
	Key            string      `json:"key"`
	Value          json.Number `json:"value"`
	StdDev         float64     `json:"stddev"`
	Low            float64     `json:"low"`
	High           float64     `json:"high"`
	Confidence     float64     `json:"confidence"`
	Met            bool        `json:"met"`
	Rungs          uint32      `json:"rungs"`
	Precision      float64     `json:"precision"`
	Value1024ths   int64       `json:"value_1024ths"`
	PrecisionUnits string      `json:"precision_units"`
	Turn           uint64      `json:"turn"`
	Generation     uint32      `json:"generation"`
	MetricDigest   string      `json:"metric_digest"`
	NoiseKeyID     string      `json:"noise_key_id"`
}

// appendJSON writes the fields one by one: the output of encoding/json has changed between releases
// of Go (the escapes of control characters), and a redone turn must give the same bytes.
func (r *Release) appendJSON(dst []byte) []byte {
	f := r.derived()
	o := r.printed(dst)
	o.integer("value_1024ths", r.Value)
	o.text("precision_units", f.precisionUnits)
	o.integer("turn", int64(r.Turn))
	o.integer("generation", int64(r.Generation))
	o.text("metric_digest", f.digest)
	o.text("noise_key_id", r.NoiseKeyID)
	return append(o.b, '}')
}

// printed writes the fields of MarshalJSON, and leaves the object open.
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

var releaseNames = sync.OnceValue(func() map[string]json.RawMessage {
	names := map[string]json.RawMessage{}
	_ = json.Unmarshal(new(Release).appendJSON(nil), &names) // a test decodes what appendJSON gives
	return names
})

// decodeReleaseJSON decodes the fields. DecodeRelease checks the derived fields, and that b holds
// nothing else.
func decodeReleaseJSON(b []byte) (Release, error) {
	var names map[string]json.RawMessage
	if json.Unmarshal(b, &names) != nil {
		return Release{}, malformed(KindRelease, "not one JSON object")
	}
	for name := range releaseNames() {
		if _, ok := names[name]; !ok || len(names) != len(releaseNames()) {
			return Release{}, &MalformedError{Kind: KindRelease,
				What: "a JSON object with other fields than those of a release", cause: ErrVersion}
		}
	}
	var f releaseFields
	if json.Unmarshal(b, &f) != nil {
		return Release{}, malformed(KindRelease, "a field is of another type")
	}
	r := Release{
		Metric: f.Metric, Key: f.Key, Value: f.Value1024ths, StdDev: f.StdDev, Low: f.Low, High: f.High,
		Confidence: f.Confidence, Met: f.Met, Rungs: f.Rungs, Turn: f.Turn, Generation: f.Generation,
		NoiseKeyID: f.NoiseKeyID,
	}
	var fromStart, toEnd bool
	r.WindowStart, fromStart = parseMillis(f.WindowStart)
	r.WindowEnd, toEnd = parseMillis(f.WindowEnd)
	if !fromStart || !toEnd {
		return Release{}, malformed(KindRelease, "a time is not in RFC 3339")
	}
	if what := r.setDerived(derived{f.PrecisionUnits, f.MetricDigest}); what != "" {
		return Release{}, malformed(KindRelease, what)
	}
	return r, nil
}

// jsonObject writes the fields of a JSON object.
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

// float writes the shortest decimal that reads back as the same number, as JavaScript writes it
// (ECMA-262, Number::toString).
func (o *jsonObject) float(name string, f float64) {
	o.name(name)
	if abs := math.Abs(f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		o.b = strconv.AppendFloat(o.b, f, 'f', -1, 64)
		return
	}
	o.b = strconv.AppendFloat(o.b, f, 'e', -1, 64)
	if n := len(o.b); o.b[n-4] == 'e' && o.b[n-2] == '0' { // an exponent of one digit has no zero
		o.b[n-2] = o.b[n-1]
		o.b = o.b[:n-1]
	}
}

// text writes valid UTF-8 with the escapes that JSON demands, and no others.
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

// parseMillis is the inverse of formatMillis, even for years that RFC 3339 cannot write: the
// calendar repeats itself every 400 years.
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

// appendValue writes a value in units of 2^-10 as its exact decimal, with at most ten digits after
// the point and without trailing zeros.
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
