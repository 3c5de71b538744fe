// Package choice chooses windows and noise for events that have happened.
//
// [Events] keeps what users did. [Events.Advise] searches, for the trusted side, by what the code
// of a run counts of these users (spend.Person): a forecast of values and errors for each setting.
// [Events.Choose] chooses for a demo, and pays for that.
//
// # Guarantees
//
// The same events, in any order, give the same answer. Memory is bounded, but for one number for
// each pair of window and key and each noise that is tried; what does not fit goes to temporary
// files.
//
// What [Found] says protects users with the planned part of the budget: docs/guarantee.md, section
// 10. The decisions are made by noise and by the exponential mechanism, and their randomness
// follows from the noise key, the arguments and the exact numbers that they rest on. A noise key
// serves one choice.
//
// # No guarantees
//
// [Advice] and [Outcome] are raw data. Callers of Choose must not look at the data for its
// arguments. The time that a choice takes depends on the data.
package choice
