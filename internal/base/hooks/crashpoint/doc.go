// Package crashpoint lets tests interrupt and restart a run. A context can carry hooks that are
// called at named points around every write, that make shards forget their caches, and that imitate
// an engine that restores an earlier checkpoint.
//
// A context without hooks changes nothing.
package crashpoint
