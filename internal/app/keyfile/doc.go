// Package keyfile has the format of key files, and makes them: 256 bits as 64 hex
// digits on a line, for a noise key also with its id and first turn before them.
//
// Guarantees:
//   - No error shows any part of a key.
//   - A key file appears whole or not at all, is readable by its owner only, and never
//     replaces another.
//
// Functions have no state and may be called by several goroutines and processes at once.
package keyfile
