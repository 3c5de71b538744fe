// Package monitor serves the state of a run over HTTP: metrics for Prometheus, liveness and
// readiness.
//
// # Guarantees
//
// Without Options.Trusted, the responses contain only seconds and states: no user, no key, no
// count, no number of records. Texts and labels consist of numbers, names of states and classes of
// dead letters, never of contents of a record. A client that is slow, or sends too much, is cut
// off, and delays neither the run nor other clients. Requests that a browser makes for another site
// are refused; on a listener for this machine alone, also requests under a name of another machine.
//
// # Not guaranteed
//
// Seconds depend on the behaviour of users: the lag of a run shows how much there was to read.
// There is no password, so the network must decide who may connect. On an address that others can
// reach, a page under any name that points there counts as the same site. Options.Profiles shows
// the memory of the process.
package monitor
