package terminal

import "time"

// Row is one released value.
type Row struct {
	Start, End time.Time
	Key        string
	Value      float64
	Low, High  float64 // interval at the confidence of the metric
	Met        bool    // the target was met
}

// margin returns half the width of the interval.
func (r Row) margin() float64 { return (r.High - r.Low) / 2 }
