// Package hook carries resources from a pipeline's author to the workers that run its transforms.
//
// A DoFn is serialised, sent to a worker and decoded there, so it cannot contain a connection, a
// lock or a closure. Instead it contains a [Hook]: a struct whose exported fields describe how to
// open the resource. The DoFn opens the resource in Setup, once for every instance that the engine
// makes, and closes it in Teardown.
//
//	type files struct{ Dir string }
//
//	func (f files) Open(context.Context) (release.Publisher, error) { return create(f.Dir) }
//
//	func init() { beam.RegisterType(reflect.TypeFor[files]()) }
//
// Guarantees: a hook arrives as encoding/json restores it from its exported fields. If a hook
// cannot be serialised, the submission of the pipeline fails with an error that contains the
// remedy; no worker fails later.
//
// Not guaranteed: that Teardown is ever called. An engine may end a worker without it, so data must
// be durable before Close. Secrets do not belong in the fields of a hook, because engines store and
// show serialised hooks. Store the secret's location instead, and read the secret in Open.
package hook
