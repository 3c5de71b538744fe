// Package monitor serves the state of a run over HTTP: metrics for Prometheus, liveness and
// readiness.
//
// # Guarantees
//
// Without Options.Trusted, the responses contain only seconds and states, but no user, no key, no
// count and no number of records. Texts and labels consist of numbers, names of states and classes
// of dead letters, never of the contents of a record. A client that is slow or sends too much is
// cut off, and delays neither the run nor other clients. Requests that a browser makes for another
// site are refused. A listener that only this machine can reach also refuses requests under the
// name of another machine.
//
// # Not guaranteed
//
// Seconds depend on the behaviour of users: the lag of a run shows how much it had to read. There
// is no password, so the network must decide who may connect. On an address that other machines can
// reach, a page under any name that points to the address counts as the same site. With
// Options.Profiles, the responses contain memory of the process.
package monitor
