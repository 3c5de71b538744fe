// Package generations compares configurations with the generation in force, and makes the next one:
// what may be changed and what never, which open windows go on, and whether the generations
// together keep what was promised first.
//
// Guarantees: no part of the budget rises by a change (docs/guarantee.md, "Changes"); whatever
// decides who a user is, or what a metric counts, never changes under its name.
package generations
