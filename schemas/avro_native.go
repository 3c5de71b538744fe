package schemas

// timestampType is the type of a time in the schemas. goavro 2.15 reduces a logical type to
// {"type":"long"} although the specification's canonical form is "long": no other reader's schema
// store would have its fingerprint. The bytes are the same, so codecs are made without the
// annotation.
const timestampType = `{"type": "long", "logicalType": "timestamp-millis"}`

// native is a record as goavro decodes it, with the name of the first field that was missing or of
// another type.
type native struct {
	fields  map[string]any
	missing string
}

func fieldOf[T any](n *native, name string) T {
	v, ok := n.fields[name].(T)
	if !ok && n.missing == "" {
		n.missing = name
	}
	return v
}
