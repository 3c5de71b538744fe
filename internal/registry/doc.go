// Package registry asks a schema registry that speaks Confluent's API (Confluent's own, Redpanda's, Karapace, Apicurio's
// compatibility endpoint) for Avro writer schemas, and registers those of files that are written to a topic.
//
// Guarantees:
//   - What an id means never changes: a schema is asked for once, but for those that 16 MB of text have no room for.
//   - event.ErrUnknownSchema is returned only where the registry itself said that it has no such schema. A proxy's 404
//     is not that.
//   - Failures that can pass by themselves are tried again, with growing pauses, before ErrUnreachable. "Too many
//     requests" is waited out, with the pauses that the registry asks for, for up to 15 minutes.
//   - event.ErrUnfitSchema says that the registry itself holds something else than one Avro schema of at most 4 MB
//     under the id: another kind, or one with references to others.
//   - Nothing is registered but by Register, and not what is registered already.
//   - Errors name the registry and what to check, never a password or the contents of an event.
//
// Not guaranteed: that the schema can be read; package schemas/event decides that.
package registry
