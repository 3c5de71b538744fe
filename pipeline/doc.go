// Package pipeline joins Kafka, the Beam transforms and the noise-reduction
// mechanism to the product's main path: events in, counts out, every user
// charged for exactly what was released.
//
// A program works with a deployment in this order:
//
//   - [Compile] checks a [Config] and makes a [Deployment] of it, without looking
//     at brokers.
//   - [CreateTopics] makes the topics; [CheckTopics] says what is wrong with them.
//   - [Init] writes the HEADER, once, that fixes what must never change.
//   - [Run] reads until it is drained or superseded, or until a bounded input is
//     done. [AwaitBroker] waits for a broker before that.
//   - [FollowReleases] hands out what is published, turn by turn, and
//     [ReadReleases] reads everything that is there.
//   - [Change] puts another configuration in force, [Recover] lets a deployment
//     go on that has stopped itself, and [TrustedReport] says what became of every
//     record.
//
// The truth about a deployment stands on two topics. The control log says which
// records belong to a turn (CLOSE) and what a turn released (SETTLED); the ledger
// says what every user contributed and what was decided. Nothing of a turn is
// published before all of its ledger deltas are durable, so that whatever has been
// published can be charged from the two alone. Every start (after a crash, an
// upgrade or an engine's restore) takes the same path: a new epoch, then the state
// as the two topics tell it.
//
// The stages themselves are the packages of pipeline/internal. What is configured,
// and the errors, are in pipeline/deployment.
//
// Guarantees: the invariants of docs/guarantee.md under any crash, restart and
// interleaving of runs, as long as the two topics keep what they were given.
// Not guaranteed: progress while no broker answers; anything where others can
// write to the deployment's own topics.
package pipeline
