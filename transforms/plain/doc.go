// Package plain counts with differential privacy in a Beam pipeline of the caller's
// own, in three transforms and without the loop through Kafka: one account
// per user in keyed state, and a price that is fixed beforehand.
//
//	dp, err := plain.New(settings, plain.Environment{UserHash: "USER_HASH", Noise: "NOISE", NoiseID: "2026"})
//	…
//	admitted, rejected := dp.Filter(s, events) // KV<user, key>, with event times
//	released := dp.Release(s, dp.Count(s, admitted))
//
// Every count is released with Gaussian noise of the metric's Sigma: a ladder of one rung. A user
// who contributes c events of a key to a window pays c²/σ² for it. That price is known before
// anything is drawn, so no settlement has to be returned. In the packed form of package transforms
// a user pays for the precision that was released, which needs a loop. At the same prices both
// forms decide the same.
//
// # Guarantees
//
//   - A user pays for all metrics, windows and keys from one account, and the contributions that
//     the account admits never exceed the budget. The unit of privacy is one
//     user with all of their events within one life of the pipeline's state.
//   - As much of a user's part in a metric window counts as the metric's allowance pays for, in the
//     order of the ends of windows and, within one, of Settings.Metrics. The rest costs nothing.
//   - What counts of a user depends on that user's own records only: not on
//     their order, on bundles, on parallelism or on other users. Where not all
//     keys are equal, a keyed hash of the user's own keys decides.
//   - The same events give the same released numbers, byte for byte, in Filter
//     and in FilterBounded: noise is a keyed function of settings, window, key
//     and count. A bundle that an engine repeats releases nothing new.
//   - A public key is released in every window from Settings.From to To, at
//     zero, too: which windows appear says nothing about the data.
//   - A private key is released only above a threshold that the keys of one user
//     pass with probability δ_keys of the budget at most, all together.
//
// # Not guaranteed
//
//   - There is no ledger. The accounts are the engine's state: a pipeline that is
//     started again without it starts with empty accounts, and the budget
//     is promised once more. The same events released again are the same
//     numbers and cost nothing; other events of the same people add up.
//   - State and outputs must be those of exactly one attempt of every bundle,
//     as Beam's engines promise. On an engine that delivers at least once a user
//     could be charged twice, never too little.
//   - An event that comes after the watermark has closed its window is dropped by the
//     engine's first grouping, before it touches an account. It costs nothing
//     and is counted nowhere: a metric that showed how many there are would
//     show data to everyone who can see metrics. Which events are late is
//     decided by the watermark, hence by other people's events, too.
//   - Accounts are for life; there are no budget periods, sums, filters, sliding windows or
//     ladders. Filter events before, and keep to one window size; or use the packed form.
//   - Metrics, logs and errors of this package name no user, no key and no count. An engine's own
//     metrics, state and web page do: they belong to the trusted side, like the rejected events.
package plain
