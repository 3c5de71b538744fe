// Package publishing is RELEASE, PUBLISH and SETTLE on Kafka: it connects package release to the
// topics. It appends released values to the counts topic, writes SETTLED to the control log once
// every release shard has acknowledged, and then the end of the turn to the turns topic.
//
// Guarantees: a value has one content for ever; if a turn is redone and a published value differs
// from the one that its events and the ledger give now, the deployment stops. Nothing of a turn is
// published before all of its ledger deltas are durable, because its partial counts arrive here
// only then.
package publishing
