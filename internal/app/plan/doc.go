// Package plan computes the consequences of a configuration before anything runs: the promise to
// users, its number of windows, the precision of counts, and the unprotected parts.
//
// A Plan is a value computed from a compiled deployment alone: public, without a key,
// a user or a count in it.
package plan
