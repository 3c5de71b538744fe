// Package schemas defines every record on tollgate's own topics, and encodes and decodes it: the
// control log, the ledger, the counts and the dead letters. It also has the elements that pass
// between the pipeline's stages, and the identifiers derived from users and keys. Events that other
// programs write are decoded by package schemas/event.
//
// Every codec here guarantees:
//
//   - An encoding starts with two magic bytes, a kind and a version. For another kind, another
//     version or trailing bytes, a decoder returns an error in which errors.Is finds ErrMalformed
//     (or ErrVersion), never a partial value.
//   - The same value gives the same bytes on every machine: maps are written sorted, integers in
//     their shortest form.
//   - A decoder accepts the shortest form only, checks every length against the remaining bytes
//     before it allocates, and never panics. Its errors name the format and the field, never the
//     contents.
//   - Records that may outgrow a Kafka message (settled turns, ledger deltas, snapshots) are split
//     below a limit and joined by count and SHA-256 digest: a set with a part missing is
//     ErrIncomplete, not a shorter value.
//
// Not guaranteed: authenticity. The digests find damage, not forgery; the control, ledger and
// dead-letter topics are trusted and must be protected by the broker's access control.
//
// Decoded values share memory with the bytes they were decoded from unless a function says
// otherwise: the caller must not change those bytes afterwards. All functions are safe for
// concurrent use, and so are types unless documented otherwise.
//
// The package does not depend on Beam or Kafka. It depends on packages units and accounts of state,
// and on metrickind for the kinds of metrics.
package schemas
