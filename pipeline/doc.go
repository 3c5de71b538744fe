// Package pipeline runs a deployment: it reads events from Kafka, publishes counts with
// differential privacy, and charges every user exactly for the releases.
//
// A program works with a deployment in this order:
//
//   - [Compile] checks a [Config] and returns a [Deployment], without contacting brokers.
//   - [CreateTopics] creates the topics; [CheckTopics] reports what is wrong with them.
//   - [Init] writes the HEADER, once. It fixes the settings that must never change.
//   - [AwaitBroker] can wait for a broker before a run. [Run] reads until it is drained or
//     superseded, or until a bounded input ends.
//   - [FollowReleases] returns published values turn by turn; [ReadReleases] returns all of them.
//   - [Change] puts another configuration in force, [Recover] unblocks a deployment that has
//     stopped itself, and [TrustedReport] counts all records by their outcome.
//
// For a complete program, see the example of Run. Package pipelinetest runs a broker for tests.
//
// Two topics hold the whole state of a deployment. The control log records which events belong to
// each turn (CLOSE) and the precisions that each turn released (SETTLED). The ledger contains every
// user's contributions and the decisions about them. No count of a turn is published before all of
// its ledger deltas are durable, so the two topics suffice to charge everything ever published. At
// every start (after a crash, an upgrade or an engine's restore), a run opens a new epoch and then
// reads its state from the two topics.
//
// The stages are in the packages of pipeline/internal, the configuration and the errors in
// pipeline/deployment.
//
// Guarantees: the invariants of docs/guarantee.md under any crash, restart and interleaving of
// runs, as long as the two topics keep their records. Not guaranteed: progress while no broker
// responds; anything if others can write to the deployment's own topics.
package pipeline
