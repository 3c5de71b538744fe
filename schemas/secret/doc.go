// Package secret wraps passwords, tokens and keys, so that values with them can safely be printed.
//
// No verb of package fmt, no text, JSON or YAML encoder, and no logger of package slog shows a
// secret, even in an unexported field of another value. Only Reveal returns a secret. Values are
// immutable and safe for concurrent use.
//
// [HMAC] derives further keys, and digests that only the holder of a key can compute.
//
// The package does not wipe secrets from memory.
package secret
