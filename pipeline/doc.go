// Package pipeline joins Kafka, the Beam transforms and the noise-reduction
// mechanism to the product's main path: events in, counts out, every user
// charged for exactly what was released.
//
// A deployment is a [Config] that [Compile] has checked. [CreateTopics] makes
// its topics, [Init] writes the HEADER that fixes what must never change, and
// [Run] reads until it is drained, superseded, or, with a bounded input, done.
//
// The run's truth stands on two topics. control says which records belong to a
// turn (CLOSE) and what a turn released (SETTLED); ledger says what every user
// contributed and what was decided. Nothing of a turn is published before all
// of its ledger deltas are durable, so whatever has been published can be
// charged from the two alone. Every start (crash, upgrade, an engine's restore)
// takes the same path: a new epoch, then the state as the two topics tell it.
//
// Guarantees: the invariants of docs/guarantee.md under any crash, restart and
// interleaving of runs, as long as the two topics keep what they were given.
// Not guaranteed: progress while the broker is away; anything against somebody
// who can write to the deployment's own topics.
package pipeline
