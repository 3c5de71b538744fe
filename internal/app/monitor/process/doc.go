// Package process says what the process uses, as metrics of Prometheus.
//
// Guarantees: nothing in it counts records, allocations or bytes from the network.
package process
