// Package localrunner keeps Beam's local runner, prism, from losing keyed state.
//
// Prism of Beam 2.77 splits a bundle that makes no progress for a while, also one
// of a stateful stage. The keys of the part that is split off are then free for
// another bundle, but the first one still carries a copy of their state from its
// own beginning, and writes it over what the other wrote when it ends. Here that
// would be a charge forgotten. The runner has an experiment that turns all splits
// off; nothing in this module gains from them.
//
// # Guarantees
//
// Jobs started after Keep, in this process or with its job options, ask for whole
// bundles. Other runners ignore an experiment that they do not know.
//
// # Not guaranteed
//
// A job that somebody else submits with job options of their own is not changed.
package localrunner
