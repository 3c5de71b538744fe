// Package search finds where a condition begins to hold, with few evaluations.
//
// # Guarantees
//
// The result depends on the condition alone; the start only determines how many times the condition
// is evaluated. So the start may be computed in float64, which differs between machines.
package search
