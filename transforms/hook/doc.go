// Package hook carries resources that a pipeline's author plugs into a transform to the workers
// that run it.
//
// A DoFn is serialised, sent to a worker and decoded there. So it cannot carry anything live: no
// connection, no lock, no closure. Instead it carries a [Hook]: a struct whose exported fields
// describe how to open the resource. The DoFn opens it in Setup, once for every instance that the
// engine makes, and closes it in Teardown.
//
//	type files struct{ Dir string }
//
//	func (f files) Open(context.Context) (release.Publisher, error) { return create(f.Dir) }
//
//	func init() { beam.RegisterType(reflect.TypeFor[files]()) }
//
// Guarantees: a hook arrives as encoding/json restores it from its exported fields; if a hook
// cannot be serialised, submitting the pipeline fails, with the remedy in the error, rather than a
// worker later.
//
// Not guaranteed: that Teardown is ever called. An engine may end a worker without it, so data must
// be durable before Close. Secrets do not belong in a hook's fields: engines store and show
// serialised hooks. Let a field say where the secret is, and read it in Open.
package hook
