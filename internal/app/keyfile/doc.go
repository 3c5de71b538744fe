// Package keyfile reads and makes key files: 256 random bits as 64 hex digits on a line.
//
// Guarantees:
//   - No error shows any part of a key.
//   - A key file that Make creates appears whole or not at all, is readable by its owner only, and
//     never replaces another.
//
// Functions have no state and may be called by several goroutines and processes at once.
package keyfile
