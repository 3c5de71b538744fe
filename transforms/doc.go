// Package transforms holds the Beam side of Tollgate: the DoFns that carry one
// turn from the reader to its settlement.
//
//	READ ─ group ─ PACK ─ SPEND (keyed state) ─ group ─ RELEASE ─ group ─ SETTLE
//
// A turn is the stretch of event time up to the end of some metric's window.
// Beam's own time is a tick, the count of openings: elements carry their turn
// and epoch inside, and no stage derives the turn from its window. Groups that
// mix epochs (an engine may hand back elements of a run that was restored)
// keep the largest epoch and drop the rest.
//
// The package knows Beam and nothing of Kafka. What READ, SPEND, RELEASE and
// SETTLE do to the outside world stands behind the interfaces of a [Runtime],
// which a run registers under its id before the pipeline starts; a DoFn is
// serialised with the id alone.
//
// Guarantees: a group without an OPEN of its epoch produces nothing and keeps
// nothing, so a drain, a flush at the end of time or a stray restore publishes
// nothing; nothing leaves SPEND before its ledger delta is durable; nothing
// leaves RELEASE before its counts are.
//
// Not guaranteed: anything about a Runtime's own behaviour; see package
// pipeline for the one that reads and writes Kafka.
package transforms
