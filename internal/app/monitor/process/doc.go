// Package process has the resource use of the process, as metrics of Prometheus.
//
// Guarantees: nothing in it counts records, allocations or bytes from the network.
package process
