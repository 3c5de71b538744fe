// Package plan computes the consequences of a configuration before anything runs: the promise to
// users, the accuracy of counts, and the limits of the protection.
//
// A Plan is computed from a compiled deployment alone. It is public: it contains no secret key, no
// user and no real count.
package plan
