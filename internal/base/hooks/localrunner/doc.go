// Package localrunner keeps Beam's local runner, prism, from losing keyed state.
//
// In Beam 2.77, prism splits a bundle that makes no progress for a while, even in a stateful stage.
// Another bundle can then process the keys of the part that was split off. But the first bundle
// still holds the state that these keys had at its start. When it ends, it overwrites the state
// that the other bundle wrote. In Tollgate, a charge would be forgotten. An experiment of the
// runner turns off all splits; nothing in this module benefits from them.
//
// # Guarantees
//
// Jobs that start after Keep, in this process or with its job options, request bundles without
// splits. Other runners ignore an experiment that they do not know.
//
// # Not guaranteed
//
// Jobs that another process submits with its own job options are not changed.
package localrunner
