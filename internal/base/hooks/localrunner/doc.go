// Package localrunner keeps Beam's local runner, prism, from losing keyed state.
//
// Prism of Beam 2.77 splits a bundle that makes no progress for a while, even in a stateful stage.
// Another bundle can then process the keys of the split-off part. But the first bundle still has
// the state of these keys as of its own beginning, and at its end it overwrites the state that the
// other bundle wrote. Here, a charge would be forgotten. An experiment of the runner turns all
// splits off; nothing in this module gains from them.
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
