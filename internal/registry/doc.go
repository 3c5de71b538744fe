// Package registry asks a schema registry that speaks Confluent's API (Confluent's own, Redpanda's, Karapace, Apicurio's
// compatibility endpoint) for Avro writer schemas, and registers those of files that are written to a topic.
//
// Guarantees:
//   - A schema is asked for once: what an id means never changes.
//   - schemas.ErrUnknownSchema is returned only where the registry itself said that it has no such schema. A proxy's 404
//     is not that.
//   - Failures that can pass by themselves are tried again, with growing pauses, before ErrUnreachable.
//   - Nothing is registered but by Register, and not what is registered already.
//   - Errors name the registry and what to check, never a password or the contents of an event.
//
// Not guaranteed: that the schema can be read; package schemas decides that. Schemas with references to other schemas are
// refused.
package registry
