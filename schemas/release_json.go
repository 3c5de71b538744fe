package schemas

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MarshalJSON writes the release as consumers see it: counts as exact decimals, times in RFC 3339
// with Z, the precision in 1/count². It fails where EncodeRelease would.
func (r Release) MarshalJSON() ([]byte, error) {
	if what := r.check(); what != "" {
		return nil, invalid(KindRelease, what)
	}
	b, err := json.Marshal(struct {
		Metric      string      `json:"metric"`
		WindowStart string      `json:"window_start"`
		WindowEnd   string      `json:"window_end"`
		Key         string      `json:"key"`
		Value       json.Number `json:"value"`
		StdDev      float64     `json:"stddev"`
		Low         float64     `json:"low"`
		High        float64     `json:"high"`
		Confidence  float64     `json:"confidence"`
		Met         bool        `json:"met"`
		Rungs       uint32      `json:"rungs"`
		Precision   float64     `json:"precision"`
	}{
		Metric: r.Metric, WindowStart: formatMillis(r.WindowStart), WindowEnd: formatMillis(r.WindowEnd), Key: r.Key,
		Value: json.Number(FormatValue(r.Value)), StdDev: r.StdDev, Low: r.Low, High: r.High,
		Confidence: r.Confidence, Met: r.Met, Rungs: r.Rungs, Precision: r.Precision.Float(),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding release as JSON: %w", err)
	}
	return b, nil
}

func formatMillis(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }

// FormatValue writes a value in units of 2^-10 as its exact decimal, with at most ten digits after
// the point and without trailing zeros.
func FormatValue(v int64) string {
	sign, u := "", uint64(v)
	if v < 0 {
		sign, u = "-", -u
	}
	whole := sign + strconv.FormatUint(u>>10, 10)
	if u&1023 == 0 {
		return whole
	}
	// 2^-10 is 9765625 units of 10^-10.
	fraction := fmt.Sprintf("%010d", (u&1023)*9765625)
	return whole + "." + strings.TrimRight(fraction, "0")
}
