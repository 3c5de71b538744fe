// Package publishing implements RELEASE, PUBLISH and SETTLE: it connects package release to Kafka.
// It appends released values to the counts topic. Once every release shard has acknowledged, it
// writes SETTLED to the control log, and then the end of the turn to the turns topic.
//
// Guarantees: the content of a value never changes. If a turn is redone and a value differs from
// the published one, the deployment stops. No value of a turn is published before all ledger deltas
// of the turn are durable, because its partial counts arrive here only then.
package publishing
