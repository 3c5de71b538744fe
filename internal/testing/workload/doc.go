// Package workload generates the events of all benchmarks, including those of
// internal/testing/peers.
//
// An event depends on its number alone, so several processes can generate events in any order, and
// the counts are known.
package workload
