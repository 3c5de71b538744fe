// Package monitor serves what a run knows of itself over HTTP: metrics for Prometheus, whether it
// is alive, and whether it is ready.
//
// # Guarantees
//
// Without Options.Trusted nothing but seconds and states is served: no user, no key, no count, no
// number of records. Texts and labels are made of numbers, the names of states and the classes of
// dead letters, never of anything that a record brought. A client that is slow, or sends much, is
// cut off, and holds up neither the run nor other clients. What a browser asks for on behalf of
// another site is refused; on a listener of this machine alone also under a name that is not its
// own.
//
// # Not guaranteed
//
// Seconds follow from what users do: how far a run lags tells how much there was to read. Who may
// ask is for the network to decide: there is no password. On an address that others reach, a page
// whose name points there is taken for one of the same site: names are not known. Options.Profiles
// shows the memory of the process.
package monitor
