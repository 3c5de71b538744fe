package event

import "fmt"

// AvroLengths finds where records end that stand one behind the other, as in Avro's container files. Not for concurrent
// use.
type AvroLengths struct {
	typ *avroType
	r   avroReader
}

// NewAvroLengths parses the schema that the records were written with.
func NewAvroLengths(schema string) (*AvroLengths, error) {
	t, err := parseAvroSchema(schema)
	if err != nil {
		return nil, fmt.Errorf("reading Avro schema: %w", err)
	}
	return &AvroLengths{typ: t}, nil
}

// Next is the length of the record that b begins with; false where it begins with none.
func (l *AvroLengths) Next(b []byte) (int, bool) {
	l.r.open(b)
	ok := l.r.skip(l.typ, 0)
	return l.r.at, ok
}
