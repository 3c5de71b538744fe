// Package spelling lists names for messages, and finds the name that was probably misspelt.
//
// Its functions are pure. Nearest returns one of the given names, or "". It does not guarantee that
// this name was meant.
package spelling
