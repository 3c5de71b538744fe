// Package transforms has the Beam side of Tollgate: the DoFns that carry one turn from the events
// to its settlement.
//
//	READ ─ group ─ PACK ─ SPEND ─ group ─ RELEASE ─ group ─ SETTLE
//
// A turn is the event time up to the end of some metric's window. Beam's own time is a tick, the
// count of openings. Elements carry their turn and epoch inside, and no stage derives the turn from
// its window. If a group mixes epochs, because an engine delivers elements of a run that was
// restored, the stage keeps the largest epoch and drops the rest.
//
// The stages are transforms of their own for any pipeline: [Read], [Pack], [Spend], [Release] and
// [Settle]. The package knows Beam and nothing of Kafka. A stage reaches the outside world through
// an interface, opened by a hook that travels with the pipeline (package hook). spend.NewEngine
// makes a Spender from a ledger, release.New a Releaser from ladders and a release.Publisher, and
// release.NewSettler a Settler. [Build] connects all stages for a run whose [Runtime] is registered
// in this process; its hooks contain only the run's id. For a pipeline without the loop see package
// plain.
//
// Guarantees: a group without an OPEN of its epoch produces nothing and keeps nothing, so a drain,
// a flush at the end of time or a late restore publishes nothing; nothing leaves SPEND before its
// ledger delta is durable; nothing leaves RELEASE before its counts are.
//
// Not guaranteed: anything about what hooks open. Package pipeline has the hooks that read and
// write Kafka.
package transforms
