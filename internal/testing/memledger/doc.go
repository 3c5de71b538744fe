// Package memledger is an in-memory ledger, for tests of pipelines without topics.
//
// It has no fences, so a writer of any epoch may append.
package memledger
