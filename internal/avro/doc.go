// Package avro reads Avro: writer schemas, and values in the binary encoding. It is the only parser
// of schemas that events are read by; what we write ourselves is encoded by goavro (package
// schemas).
//
// Guarantees:
//
//   - Parse accepts what decoding needs and is bounded in length and depth.
//   - A Reader accepts what goavro 2.15 accepts, within bounds of its own on items and depth; it
//     allocates nothing but the keys of maps while it skips, does not panic, and takes time linear
//     in the record's length. Tests and fuzzers of package schemas/event hold it to goavro.
//   - Errors name types and fields of a schema, never values.
//
// Not guaranteed: that a schema is valid in every respect. Names, defaults, aliases and
// documentation are not looked at.
package avro
