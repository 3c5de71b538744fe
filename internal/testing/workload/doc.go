// Package workload generates the events of all benchmarks, including internal/testing/peers.
//
// An event depends only on its number. So several processes can generate events in any order, and
// the true counts are known.
package workload
