// Package process exports the resource use of the process as Prometheus metrics.
//
// Guarantees: none of these metrics counts records, allocations or bytes from the network.
package process
