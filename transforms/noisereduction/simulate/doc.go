// Package simulate computes what ladders and stop rules of package
// noisereduction do: how often a met release is wrong, how often the printed
// interval misses, and what precision is paid. It fits the factors that the
// mechanism compiles in, and has the baselines it is compared with.
//
// # Guarantees
//
// Sweep integrates, it does not sample: results are exact up to a grid of
// 0.08 deviations (below 1e-3 of a probability, by comparison with finer
// grids and with the mechanism itself) and need no seed.
//
// # No guarantees
//
// Everything here is floating point for people and for tests. None of it
// may decide or compute a release.
package simulate
