// Package schemas encodes and decodes every record on tollgate's own topics: the control log, the
// ledger, the counts, the turns and the dead letters. It also defines the elements that the
// pipeline's stages exchange and the identifiers derived from users and keys. Package schemas/event
// decodes the events that other programs write.
//
// Every codec here guarantees:
//
//   - A binary encoding starts with two magic bytes, a kind and a version. If the kind or version
//     is not the expected one, or bytes are left over, the decoder returns ErrMalformed or
//     ErrVersion, never a partial value.
//   - The same value gives the same bytes on every machine: maps are sorted, and integers are in
//     their shortest form.
//   - A decoder accepts only the shortest form, checks every length against the remaining bytes
//     before it allocates, and never panics. Its errors name the format and the field, never the
//     contents.
//   - Records that may be too large for a Kafka message (settled turns, ledger deltas, snapshots)
//     are split into parts. Joining the parts checks their number and a SHA-256 digest: a missing
//     part gives ErrIncomplete, not a shorter value.
//
// The codecs do not guarantee authenticity. The digests detect damage, not forgery: the broker's
// access control must protect the control, ledger and dead-letter topics.
//
// Decoded values share memory with their encoding unless documented otherwise: the caller must not
// change those bytes afterwards. All functions are safe for concurrent use, and so are types unless
// documented otherwise.
//
// The package does not depend on Beam or Kafka.
package schemas
