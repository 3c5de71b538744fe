// Package memledger is a ledger in memory, for tests of pipelines without topics.
//
// Not guaranteed: fences. A writer of any epoch may append.
package memledger
