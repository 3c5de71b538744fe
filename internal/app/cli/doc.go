// Package cli implements parts that all command lines share: errors in flags, --format, --report,
// and a stderr whose reader may go away.
//
// Guarantees: an error in a flag names the flag, its valid values, and the given value without
// secrets. A page is written whole or not at all.
package cli
