// Package secret wraps passwords, tokens and keys, so that a program can print a value that
// contains them without showing them.
//
// Guarantees:
//   - No verb of package fmt prints a secret, no encoder of text, JSON or YAML writes it, and no
//     logger of package slog logs it, even if it is in an unexported field of another value.
//   - Only Reveal returns the secret.
//
// [Keyed] derives further keys, and digests that only the holder of a key can compute.
//
// The package does not wipe secrets from memory.
//
// Values are immutable and safe for concurrent use.
package secret
