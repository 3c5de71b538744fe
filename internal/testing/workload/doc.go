// Package workload generates the events of all benchmarks, including those of
// internal/testing/peers.
//
// An event follows from its number alone. So several processes can generate events in any order,
// and their counts are known.
package workload
