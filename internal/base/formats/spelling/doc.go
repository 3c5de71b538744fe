// Package spelling writes lists of names in texts, and finds the name that was probably misspelt.
//
// Its functions are pure; Nearest returns one of the given names, or nothing. It does not guarantee
// that this name was meant.
package spelling
