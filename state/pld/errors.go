package pld

import "fmt"

// SizeError means that a distribution would need more memory than allowed: use a greater Interval,
// an Interval of 0 (automatic) or a greater MaxPoints.
type SizeError struct {
	Points   float64 // number of grid points needed; a float64 because it may be astronomical
	Limit    int     // number allowed
	Interval float64 // interval of that grid
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
	Floor float64 // the least δ that can be shown for any ε
}

func (e *FloorError) Error() string {
	return fmt.Sprintf("delta is %v, but this distribution can show nothing below %v; raise delta or lower min_delta",
		e.Delta, e.Floor)
}
