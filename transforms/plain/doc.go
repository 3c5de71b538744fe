// Package plain counts with differential privacy in your own Beam pipeline. It has three transforms
// and needs no loop through Kafka. Each user has one account in keyed state, and prices are fixed
// in advance.
//
//	dp, err := plain.New(settings, plain.Environment{UserHash: "USER_HASH", Noise: "NOISE", NoiseID: "2026"})
//	…
//	admitted, rejected := dp.Filter(s, events) // KV<user, key>, with event times
//	released := dp.Release(s, dp.Count(s, admitted))
//
// Every count is released with Gaussian noise whose standard deviation is the metric's Sigma: a
// ladder of one rung. A user who contributes c events of a key to a window pays c²/σ² for them. In
// the stages of package transforms, users pay for the released precision, which is known only after
// the release, so those stages need a loop. At equal prices, both admit the same events.
//
// # Guarantees
//
//   - A user pays for all metrics, windows and keys from one account, and never more than the
//     budget. The unit of privacy is one user, with all of the user's events during one life of the
//     pipeline's state.
//   - Of a user's events in a metric window, as many count as the metric's allowance pays for.
//     Windows are decided in the order of their ends and, for the same end, of Settings.Metrics.
//     The other events cost nothing.
//   - Which of a user's events count depends only on that user's own records: not on their order, on
//     bundles, on parallelism or on other users. If the user's keys cannot all count equally, a
//     keyed hash decides between them.
//   - The same events give the same released numbers, byte for byte, in Filter and in FilterBounded:
//     noise is a keyed function of settings, window, key and count. If an engine repeats a bundle,
//     nothing new is released.
//   - A public key is released in every window from Settings.From to To, even at zero, so that the
//     set of released windows does not depend on the data.
//   - A private key is released only above a threshold. For each user, the probability that any
//     key of this user alone passes it is at most the budget's δ_keys.
//
// # Not guaranteed
//
//   - There is no ledger: accounts are the engine's state. A pipeline that is restarted without this
//     state starts with empty accounts, and the budget is promised once more. If the same events are
//     released again, the numbers are the same and cost nothing; the losses of other events add up.
//   - State and outputs must be those of exactly one attempt of every bundle, as Beam's engines
//     promise. An engine with at-least-once delivery could charge a user twice, but never too little.
//   - The engine's first grouping drops an event that arrives after the watermark has closed its
//     window, before the event touches an account. Nothing counts these events, because the number
//     would reveal data to everyone who can see metrics. Which events are late depends on the
//     watermark, and therefore on other people's events.
//   - Accounts are for life; there are no budget periods, sums, filters, sliding windows or
//     ladders. Filter events beforehand, and use one window size; or use package transforms.
//   - Metrics, logs and errors of this package contain no user, key or count. An engine's own
//     metrics, state and web page do: like the rejected events, they are not protected.
package plain
