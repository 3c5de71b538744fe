// Package pipeline runs a deployment: events come in from Kafka, counts with differential privacy
// go out, and every user is charged exactly for the releases.
//
// A program works with a deployment in this order:
//
//   - [Compile] checks a [Config] and makes a [Deployment] from it, without asking brokers.
//   - [CreateTopics] creates the topics; [CheckTopics] reports their faults.
//   - [Init] writes the HEADER, once. It fixes the settings that must never change.
//   - [Run] reads until it is drained or superseded, or until a bounded input ends. Before it,
//     [AwaitBroker] waits for a broker and connects to it.
//   - [FollowReleases] hands out published values turn by turn; [ReadReleases] reads all existing
//     ones.
//   - [Change] puts another configuration in force, [Recover] lets a deployment continue that has
//     stopped itself, and [TrustedReport] counts all records by their outcome.
//
// Example Run has a whole program. Package pipelinetest runs a broker for tests.
//
// Two topics hold the truth about a deployment. The control log has the records that belong to each
// turn (CLOSE) and the precisions that each turn released (SETTLED). The ledger has every user's
// contributions and the decisions about them. Nothing of a turn is published before all of its
// ledger deltas are durable, so the two suffice to charge everything ever published. Every start
// (after a crash, an upgrade or an engine's restore) takes the same path: a new epoch, then the
// state that the two topics hold.
//
// The stages themselves are the packages of pipeline/internal. The configuration and the errors
// are in pipeline/deployment.
//
// Guarantees: the invariants of docs/guarantee.md under any crash, restart and interleaving of
// runs, as long as the two topics keep their records. Not guaranteed: progress while no broker
// responds; anything if others can write to the deployment's own topics.
package pipeline
