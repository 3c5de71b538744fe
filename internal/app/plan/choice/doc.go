// Package choice chooses windows and noise for past events.
//
// [Events] stores users' events. [Events.Advise] searches for good settings, for the trusted side
// only. It forecasts the values and errors of each setting with the counting code of a run
// (spend.Person). [Events.Choose] chooses a setting for a demo and pays for the choice.
//
// # Guarantees
//
// The same events, in any order, give the same result. Memory is bounded, except for one number per
// (window, key) pair and tried noise. Events beyond the bound go to temporary files.
//
// [Found] protects users with the planned part of the budget: docs/guarantee.md, section 10. Every
// decision uses noise or the exponential mechanism. The randomness is derived from the noise key,
// the arguments and the exact numbers behind the decision. Use a noise key for one choice only.
//
// # No guarantees
//
// [Advice] and [Outcome] are not protected. The arguments of Choose must not depend on the data.
// The duration of a choice depends on the data.
package choice
