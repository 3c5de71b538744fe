// Package memledger is an in-memory ledger, for tests of pipelines without topics.
//
// It has no fences: a writer from any epoch may append.
package memledger
