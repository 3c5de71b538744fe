// Package changes compares configurations with the generation in force, and computes the header of
// the next generation. It decides which settings may change, and whether all generations together
// keep the first promise.
//
// Guarantees: no change raises a part of the budget (docs/guarantee.md, "Several budgets"). Under
// the same name, it never changes who a user is or what a metric counts.
package changes
