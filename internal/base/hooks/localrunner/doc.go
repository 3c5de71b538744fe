// Package localrunner keeps Beam's local runner, prism, from losing keyed state.
//
// Prism of Beam 2.77 splits a bundle that makes no progress for a while, also one of a stateful
// stage. Another bundle can then take the keys of the part that is split off, but the first bundle
// still has a copy of their state from its own beginning, and when it ends it overwrites what the
// other one wrote. Here that would be a charge forgotten. The runner has an experiment that turns
// all splits off; nothing in this module gains from them.
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
