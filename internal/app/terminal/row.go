package terminal

import "time"

// Row is one released value.
type Row struct {
	Start, End time.Time
	Key        string
	Value      float64
	Low, High  float64 // interval at the confidence of the metric
	Met        bool    // the target was met
	// Lopsided is set for values whose noise is not normal, such as quantiles: all that is known of
	// the noise is the interval. The mean of several lies between the means of their ends.
	Lopsided bool
	Unasked  bool // the value has no target
}

// margin returns how far the value is from the farther end of the interval. A quantile can be much
// closer to one end than to the other: half the width would leave a part of the interval out.
func (r Row) margin() float64 { return max(r.High-r.Value, r.Value-r.Low) }

// interval writes the interval of the value.
func (r Row) interval(decimals int) string {
	return Number(r.Low, decimals) + " to " + Number(r.High, decimals)
}
