// Package direct runs a Beam pipeline in this process: the runner for one machine.
//
// It takes the graph that Beam's transforms have made and drives its DoFns through their life cycle
// (Setup, StartBundle, ProcessElement, FinishBundle, Teardown), each instance decoded from what any
// engine would be sent. The source, a splittable DoFn, has a goroutine of its own; after it the
// pipeline is cut into stages, where elements are grouped. A stage's groups are a bundle's elements
// for up to [Parallelism] instances, which take them one by one and share one wait when their
// bundles end. Groups are slices of what was emitted: nothing is encoded on the way.
//
// It runs the pipeline of a deployment: one chain of Impulse, ParDo with emitters (the first may be
// splittable), Reshuffle before the source, WindowInto (fixed or global) and GroupByKey. It refuses
// anything else rather than run it in another way ([ErrUnsupported]); other people's pipelines run
// on Beam's runners. It has no checkpoints, and so it refuses keyed state ([ErrStateWouldBeLost]):
// a restart would forget the accounts in it, and all charges with them.
//
// # Guarantees
//
//   - Order: windows fire in the order of their ends, over all stages. The output of a firing
//     passes through as many stages as its windows allow before the next window fires. So one
//     turn, or one span, is under way at a time. Within a firing, groups and the elements of a
//     group have no order.
//   - A window fires once, when the watermark has passed it, with everything that was emitted for
//     it. An element emitted behind the watermark is an error ([ErrLate]), never dropped. So is an
//     element without a window in a windowed collection (emitted when a bundle began or ended).
//   - Back-pressure: while a firing is under way, the source makes at most one more step that
//     emits. Elements whose window is still open wait in memory.
//   - The end of the source is a drain: everything emitted passes through all stages. If a stage
//     waits for an element that was never emitted, it sees its group without it.
//   - The first error of any DoFn ends the run and is returned with its type, wrapped in the name
//     of the DoFn. A panic of a DoFn counts as such an error, and so does an emitter that is used
//     after its method has returned. If a method emits an element that fails downstream, it is not
//     interrupted: its later elements are dropped, and it fails when it returns. Nothing is
//     retried; the next run continues.
//   - A cancelled run returns as soon as its DoFns do, with the cause.
//   - When Execute returns, for whatever reason, no goroutine of it is left, and every instance
//     whose Setup was called has been torn down once, also where Setup failed.
//
// # Not guaranteed
//
// Copies: emitted elements are passed on without a copy, also through a group. A
// DoFn that reuses their memory changes them for the receiver.
//
// Panics in goroutines that a DoFn has started: they end the process. The value of a panic is part
// of its error as it is; the arguments of the calls that led to it are not.
//
// Undoing the writes that a failed or cancelled run has begun. Beam's metrics: they are dropped.
package direct
