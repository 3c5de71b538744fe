// Package registry queries a schema registry for Avro writer schemas, and registers the schemas of
// files that are written to a topic. The registry must have Confluent's API: Confluent's own,
// Redpanda's, Karapace, or Apicurio's compatibility endpoint.
//
// Guarantees:
//   - The meaning of an id never changes: each schema is requested only once, as long as all known
//     schemas fit in 16 MB.
//   - event.ErrUnknownSchema is returned only if the registry itself reports that it has no such
//     schema. A proxy's 404 does not count.
//   - After transient failures, requests are retried with growing pauses before ErrUnreachable is
//     returned. After "too many requests" they are retried with the pauses that the registry
//     requests, for up to 15 minutes.
//   - event.ErrUnfitSchema means that the registry has something other than one Avro schema of at
//     most 4 MB under the id: another kind, or one with references to others.
//   - Only Register registers a schema, and only if it is not yet registered.
//   - Errors name the registry and what to check, never a password or the contents of an event.
//
// The package does not guarantee that a schema can be read; package schemas/event decides that.
package registry
