package pld

import "fmt"

// SizeError means that a distribution would need more memory than allowed: use a coarser Interval,
// 0 to choose one automatically, or a greater MaxPoints.
type SizeError struct {
	Points   float64 // how many grid points are needed; a float64, as it may be astronomic
	Limit    int     // how many are allowed
	Interval float64 // interval at which they are needed
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("the distribution needs %.0f points at interval %v, but at most %d are allowed; use a greater "+
		"interval or raise the limit", e.Points, e.Interval, e.Limit)
}

// FloorError means that no finite ε can be shown at δ, because the mass cut off at the top and the
// error bounds alone exceed it: the true ε may well be finite. Ask for a greater δ, or build the
// distributions with a smaller MinDelta.
type FloorError struct {
	Delta float64 // requested δ
	Floor float64 // the least δ that can be shown at any ε
}

func (e *FloorError) Error() string {
	return fmt.Sprintf("delta is %v, but this distribution can show nothing below %v; raise delta or lower min_delta",
		e.Delta, e.Floor)
}
