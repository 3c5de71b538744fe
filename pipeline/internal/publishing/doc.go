// Package publishing implements RELEASE, PUBLISH and SETTLE on Kafka: it connects package release
// to the topics. It appends released values to the counts topic, writes SETTLED to the control log
// once every release shard has acknowledged, and then the end of the turn to the turns topic.
//
// Guarantees: the content of a value never changes; if a turn is redone and a value differs from
// the published one, the deployment stops. No value of a turn is published before all of the turn's
// ledger deltas are durable, because its partial counts arrive here only then.
package publishing
