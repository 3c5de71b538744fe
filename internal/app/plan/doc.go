// Package plan says what follows from a configuration before anything runs: what is
// promised to users, over how many windows, how precise counts can become, and what is not
// protected.
//
// A Plan is a value computed from a compiled deployment alone: public, without a key,
// a user or a count in it.
package plan
