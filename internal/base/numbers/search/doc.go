// Package search finds where a condition begins to hold, with few evaluations.
//
// # Guarantees
//
// The result depends only on the condition. The start only determines how many times the condition
// is evaluated. So the start may be computed in float64, although that differs between machines.
package search
