// Package publishing is RELEASE, PUBLISH and SETTLE on Kafka: it adds up the partial counts of a
// turn, releases them along their ladders, writes the values to the counts topic, and writes
// SETTLED to the control log once every release shard has acknowledged.
//
// Guarantees: a value has one content for ever; where a turn is redone and a published value
// differs from what its events and the ledger give now, the deployment stops. Nothing of a turn is
// published before all of its ledger deltas are durable: only then do its partial counts arrive
// here.
package publishing
