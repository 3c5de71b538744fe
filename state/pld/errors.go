package pld

import "fmt"

// SizeError means that a distribution needs more grid points than are permitted. Use a greater
// Interval, an Interval of 0 (automatic) or a greater MaxPoints.
type SizeError struct {
	Points   float64 // required number of grid points; a float64 because it may be astronomical
	Limit    int     // maximum number of grid points
	Interval float64 // interval of that grid
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("the distribution needs %.0f points at interval %v, but at most %d are allowed; use a greater "+
		"interval or raise the limit", e.Points, e.Interval, e.Limit)
}

// FloorError means that no finite ε can be proved for δ, because the mass that is cut off at the
// top and the error bounds alone exceed δ. The true ε may be finite. Use a greater δ, or create the
// distributions with a smaller MinDelta.
type FloorError struct {
	Delta float64 // requested δ
	Floor float64 // the least δ that can be proved for any ε
}

func (e *FloorError) Error() string {
	return fmt.Sprintf("delta is %v, but this distribution proves nothing below %v; raise delta or lower min_delta",
		e.Delta, e.Floor)
}
