// Package cli has the parts that the command lines of all programs share: errors in flags, --format
// and --report, and a stderr whose reader may go away.
//
// Guarantees: an error in a flag names the flag, the value without its secrets, and what the flag
// takes. A page is written whole or not at all.
package cli
