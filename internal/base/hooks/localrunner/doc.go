// Package localrunner keeps Beam's local runner, prism, from losing keyed state.
//
// Prism of Beam 2.77 splits a bundle that makes no progress for a while, even in a stateful stage.
// Another bundle can then process the keys of the split-off part. But the first bundle still holds
// the state of these keys as of its start, and when it ends it overwrites the state that the other
// bundle wrote. In Tollgate, a charge would be forgotten. An experiment of the runner turns off all
// splits, from which nothing in this module benefits.
//
// # Guarantees
//
// Jobs started after Keep, in this process or with its job options, ask for bundles without splits.
// Other runners ignore an experiment that they do not know.
//
// # Not guaranteed
//
// Jobs that another process submits with its own job options are not changed.
package localrunner
