// Package choice chooses windows and noise for past events.
//
// [Events] stores users' events. [Events.Advise] searches for good settings, for the trusted side
// only: with the counting code of a run (spend.Person), it forecasts values and errors for each.
// [Events.Choose] chooses for a demo and pays for the choice.
//
// # Guarantees
//
// The same events, in any order, give the same result. Memory is bounded, except for one number per
// pair of window and key for each noise tried; the rest goes to temporary files.
//
// [Found] protects users with the planned part of the budget: docs/guarantee.md, section 10.
// Decisions are made with noise or the exponential mechanism, with randomness derived from the
// noise key, the arguments and the exact numbers behind them. Use a noise key for one choice only.
//
// # No guarantees
//
// [Advice] and [Outcome] are not protected. The arguments of Choose must not depend on the data.
// The duration of a choice depends on the data.
package choice
