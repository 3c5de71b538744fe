// Package search finds where a condition begins to hold, with few looks at it.
//
// # Guarantees
//
// What is found depends on the condition alone; where the search begins decides only how often the
// condition is evaluated. So the start may come from float64, which differs between machines.
package search
