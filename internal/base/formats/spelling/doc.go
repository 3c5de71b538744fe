// Package spelling writes lists of names in texts, and finds the name that was meant by a misspelt
// one.
//
// Guarantees: pure functions; Nearest returns one of the names that it is given, or nothing.
//
// Not guaranteed: that this name was meant.
package spelling
