package kafkalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
)

const (
	// maxFrame bounds the memory that a peer can make this process allocate. A fetch asks for at
	// most maxFetchBytes, and a broker may exceed that by one batch.
	maxFrame = 256 << 20
	// frameHeader is size and correlation id.
	frameHeader = 8
)

// readFrame reads one length-prefixed response. memory returns a slice of a length for it. A large
// frame grows as its bytes come in, so that a wrong length costs no more memory than was sent.
func readFrame(r io.Reader, memory func(n int) []byte) ([]byte, error) {
	const step = 16 << 20
	var head [frameHeader]byte
	n, err := io.ReadFull(r, head[:])
	size := binary.BigEndian.Uint32(head[:])
	switch {
	case n >= 4 && head[0] == 0x15 && head[1] == 3 && head[2] <= 4: // an alert record
		return nil, errExpectsTLS
	case err != nil:
		return nil, err
	case size < 4 || size > maxFrame:
		return nil, fmt.Errorf("%w: this is not a Kafka broker", ErrCorrupt)
	}
	total := int(size) + 4
	frame := memory(min(total, step))
	for at := copy(frame, head[:]); ; at = len(frame) {
		if len(frame) == at && at < total {
			frame = append(frame, make([]byte, min(total-at, step))...)
		}
		if _, err := io.ReadFull(r, frame[at:]); errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		} else if err != nil {
			return nil, err
		}
		if len(frame) == total {
			return frame, nil
		}
	}
}

// errExpectsTLS is the error for a response whose first bytes are a TLS alert.
var errExpectsTLS = errors.New("broker appears to be expecting TLS")

// decode fills those fields of a kafka-go response that a version without flexible headers has.
// kafka-go's own decoder allocates as many items as an array claims to have: a corrupt length ends
// the process. Byte slices in res belong to body. Null strings become "".
func decode(res any, version int16, body []byte) error {
	d := decoder{version, body}
	v := reflect.ValueOf(res).Elem()
	if id, ok := res.(*identity); ok && !id.decode(version, body) || !ok && !d.structure(v, d.fields(v.Type())) {
		return fmt.Errorf("decoding a %T: %w", res, ErrCorrupt)
	}
	return nil
}

type decoder struct {
	version int16
	rest    []byte
}

// layouts keeps what fields returns.
var layouts sync.Map

type layout struct {
	of      reflect.Type
	version int16
}

// fields returns the fields of a struct that the version has, from tags like
// `kafka:"min=v0,max=v8"`.
func (d *decoder) fields(t reflect.Type) (has []int) {
	of := layout{t, d.version}
	if known, ok := layouts.Load(of); ok {
		return known.([]int)
	}
	defer func() { layouts.Store(of, has) }()
	for i := range t.NumField() {
		for span := range strings.SplitSeq(t.Field(i).Tag.Get("kafka"), "|") {
			var least, most int16
			n, _ := fmt.Sscanf(span, "min=v%d,max=v%d", &least, &most)
			if n == 2 && least <= d.version && d.version <= most && t.Field(i).IsExported() {
				has = append(has, i)
			}
		}
	}
	return has
}

func (d *decoder) structure(v reflect.Value, fields []int) bool {
	for _, i := range fields {
		if !d.value(v.Field(i)) {
			return false
		}
	}
	return true
}

// take returns the next n bytes.
func (d *decoder) take(n int64) (b []byte, ok bool) {
	if n < 0 || n > int64(len(d.rest)) {
		return nil, false
	}
	b, d.rest = d.rest[:n:n], d.rest[n:]
	return b, true
}

// integer returns the next big-endian integer of a size in bytes.
func (d *decoder) integer(size int64) (n int64, ok bool) {
	b, ok := d.take(size)
	for i := range b {
		n = n<<8 | int64(b[i])
	}
	return n << (64 - 8*size) >> (64 - 8*size), ok
}

func (d *decoder) value(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Bool:
		n, ok := d.integer(1)
		v.SetBool(n != 0)
		return ok
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, ok := d.integer(int64(v.Type().Size()))
		v.SetInt(n)
		return ok
	case reflect.String:
		n, ok := d.integer(2)
		b, whole := d.take(max(n, 0))
		v.SetString(string(b))
		return ok && whole
	case reflect.Struct:
		return d.structure(v, d.fields(v.Type()))
	case reflect.Slice:
		n, ok := d.integer(4)
		if n = max(n, 0); !ok || n > int64(len(d.rest)) {
			return false
		}
		of := v.Type().Elem()
		if of.Kind() == reflect.Uint8 {
			b, ok := d.take(n)
			v.SetBytes(b)
			return ok
		}
		var fields []int
		if of.Kind() == reflect.Struct {
			fields = d.fields(of)
		}
		for i := range int(n) { // it grows with the bytes that are there
			v.Grow(1)
			v.SetLen(i + 1)
			if item := v.Index(i); fields != nil && !d.structure(item, fields) || fields == nil && !d.value(item) {
				return false
			}
		}
		return true
	}
	return false
}
