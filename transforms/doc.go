// Package transforms is the Beam side of Tollgate: the DoFns that take a turn from its events to
// its settlement.
//
//	READ ─ group ─ PACK ─ SPEND ─ group ─ RELEASE ─ group ─ SETTLE
//
// A turn is an interval of event time that ends where some metric's window ends. Beam's own event
// time counts ticks: one for every opening of a turn. Elements contain their turn and epoch, and no
// stage derives the turn from Beam's window. If a group mixes epochs, because an engine delivers
// elements of a run that was restored, the stage keeps the newest epoch and drops the rest.
//
// The stages are separate transforms for any pipeline: [Read], [Pack], [Spend], [Release] and
// [Settle]. The package depends on Beam but not on Kafka. A stage reaches the outside world through
// an interface, opened by a hook that travels with the pipeline (package hook). spend.NewEngine
// returns a Spender from a ledger, release.New a Releaser from ladders and a release.Publisher, and
// release.NewSettler a Settler. [Build] connects all stages for a run whose [Runtime] is registered
// in this process; its hooks contain only the run's id. For a pipeline without the loop see package
// plain.
//
// Guarantees: a group without an OPEN of its epoch has no output and changes no state, so a drain,
// a flush at the end of time or a late restore publishes nothing; no count leaves SPEND before its
// ledger delta is durable; no acknowledgement leaves RELEASE before its counts are durable.
//
// Not guaranteed: anything about the resources that hooks open. Package pipeline implements those
// that read and write Kafka.
package transforms
