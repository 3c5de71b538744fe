// Package keyfile reads and makes key files. A key file contains 256 random bits as 64 hex digits
// on one line.
//
// Guarantees:
//   - No error shows any part of a key.
//   - A key file that Make creates appears complete or not at all. Only its owner can read it, and
//     it never replaces another file.
//
// The functions have no state. Several goroutines and processes may call them at the same time.
package keyfile
