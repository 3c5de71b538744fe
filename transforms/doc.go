// Package transforms has the Beam side of Tollgate: the DoFns that carry one
// turn from the events to its settlement.
//
//	READ ─ group ─ PACK ─ SPEND ─ group ─ RELEASE ─ group ─ SETTLE
//
// A turn is the stretch of event time up to the end of some metric's window.
// Beam's own time is a tick, the count of openings: elements carry their turn
// and epoch inside, and no stage derives the turn from its window. Groups that
// mix epochs (an engine may hand back elements of a run that was restored)
// keep the largest epoch and drop the rest.
//
// The stages are transforms of their own: [Read], [Pack], [Spend], [Release] and
// [Settle], for any pipeline. The package knows Beam and nothing of Kafka: what a
// stage does to the outside world goes through an interface, opened by a hook that
// travels with the pipeline (package hook). spend.NewEngine, release.New and
// release.NewSettler make a Spender, a Releaser and a Settler of a ledger, ladders
// and a release.Publisher. [Build] puts all stages together for a run whose
// [Runtime] is registered in this process; its hooks have the run's id only. For a
// pipeline without the loop see package plain.
//
// Guarantees: a group without an OPEN of its epoch produces nothing and keeps
// nothing, so a drain, a flush at the end of time or a late restore publishes
// nothing; nothing leaves SPEND before its ledger delta is durable; nothing
// leaves RELEASE before its counts are.
//
// Not guaranteed: anything about what hooks open; see package pipeline for the
// ones that read and write Kafka.
package transforms
