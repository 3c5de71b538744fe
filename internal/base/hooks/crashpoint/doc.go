// Package crashpoint lets tests of crashes and restarts into a run: a context can carry hooks that
// are called at named points around every write, that make shards forget their caches, and that
// play an engine which restores an earlier checkpoint.
//
// Guarantees: a context without hooks changes nothing.
package crashpoint
