// Package plan computes the consequences of a configuration before anything runs: the promise to
// users, the precision of counts, and what is not protected.
//
// A Plan is computed from a compiled deployment alone. It is public: it contains no secret key, no
// user and no real count.
package plan
