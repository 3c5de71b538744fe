// Package memledger is a ledger in memory, for tests of pipelines that keep no topic.
//
// Not guaranteed: fences. Every writer may append, whatever its epoch.
package memledger
