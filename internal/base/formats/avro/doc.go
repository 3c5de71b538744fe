// Package avro reads Avro: writer schemas, and values in the binary encoding. It is the only parser
// of event schemas; tollgate's own records are encoded by goavro (package schemas).
//
// Guarantees:
//
//   - Parse accepts every schema that can decode records, up to bounds on its length and depth.
//   - A Reader accepts the same records as goavro 2.15, except for integers that do not fit their
//     type, maps with a key twice, and its own limits on items and depth. It does not allocate
//     and does not panic, and takes time linear in the record's length. Tests and fuzzers of
//     package schemas/event compare it with goavro.
//   - Errors name types and fields of a schema, never values.
//
// Not guaranteed: that a schema is valid in every respect. Names, defaults, aliases and
// documentation are not validated.
package avro
