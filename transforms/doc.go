// Package transforms contains the Beam transforms of Tollgate: the DoFns that process a turn from
// its events to its settlement.
//
//	READ ─ group ─ PACK ─ SPEND ─ group ─ RELEASE ─ group ─ SETTLE
//
// A turn is an interval of event time that ends where a window of some metric ends. Beam's own
// event time counts ticks: one tick for every opening of a turn. Elements contain their turn and
// epoch, and no stage derives the turn from Beam's window. A group may mix epochs, because an
// engine may deliver elements of a run that was restored. The stage then keeps the elements of the
// newest epoch and drops the rest.
//
// The stages are separate transforms, which any pipeline can use: [Read], [Pack], [Spend],
// [Release] and [Settle]. The package depends on Beam but not on Kafka. A stage accesses everything
// outside the pipeline through an interface. A hook, which travels with the pipeline, opens that
// interface (package hook). spend.NewEngine returns a Spender that uses a ledger, release.New a
// Releaser that uses ladders and a release.Publisher, and release.NewSettler a Settler. [Build]
// connects all stages for a run whose [Runtime] is registered in this process; its hooks contain
// only the run's id. For a pipeline without the loop of turns, see package plain.
//
// Guarantees: a group without an OPEN of its epoch has no output and changes no state, so a drain,
// a flush at the end of time or a late restore publishes nothing. No count leaves SPEND before its
// ledger delta is durable. No acknowledgement leaves RELEASE before its counts are durable.
//
// Not guaranteed: the properties of the resources that hooks open. Package pipeline implements the
// resources that read and write Kafka.
package transforms
