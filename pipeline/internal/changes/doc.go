// Package changes compares configurations with the generation in force, and makes the next
// generation. It decides what may change and what never, and whether the generations together keep
// the first promise.
//
// Guarantees: no part of the budget rises by a change (docs/guarantee.md, "Several budgets");
// whatever decides who a user is, or what a metric counts, never changes under its name.
package changes
