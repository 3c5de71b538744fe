package kafkalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxFrame bounds the memory that a peer can make this process allocate. A fetch asks for at
	// most maxFetchBytes, and a broker may exceed that by one batch.
	maxFrame = 256 << 20
	// frameHeader is size and correlation id.
	frameHeader = 8
)

// readFrame reads one length-prefixed response. memory returns a slice of a given length for it. A
// large frame grows as its bytes arrive, so a wrong length costs no more memory than was sent.
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
	for filled := copy(frame, head[:]); ; filled = len(frame) {
		if len(frame) == filled && filled < total {
			frame = append(frame, make([]byte, min(total-filled, step))...)
		}
		if _, err := io.ReadFull(r, frame[filled:]); errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		} else if err != nil {
			return nil, err
		}
		if len(frame) == total {
			return frame, nil
		}
	}
}

var errExpectsTLS = errors.New("broker appears to be expecting TLS")

// decode fills those fields of a kafka-go response that a version without flexible headers has.
// kafka-go's own decoder allocates as many items as an array claims to have: a corrupt length ends
// the process. Byte slices in res belong to body. Null strings become "".
func decode(res any, version int16, body []byte) error {
	ok := false
	switch res := res.(type) {
	case *identity:
		ok = res.decode(version, body)
	case kmsg.Response: // response to a franzRequest
		res.SetVersion(version)
		ok = res.ReadFrom(body) == nil
	default:
		d := decoder{version, kbin.Reader{Src: body}}
		v := reflect.ValueOf(res).Elem()
		d.structure(v, d.fields(v.Type()))
		ok = d.Ok()
	}
	if !ok {
		return fmt.Errorf("decoding a %T: %w", res, ErrCorrupt)
	}
	return nil
}

type decoder struct {
	version int16
	kbin.Reader
}

var layouts sync.Map

type layout struct {
	typ     reflect.Type
	version int16
}

// fields returns the fields that the version has, from tags like `kafka:"min=v0,max=v8"`.
func (d *decoder) fields(t reflect.Type) (has []int) {
	key := layout{t, d.version}
	if known, ok := layouts.Load(key); ok {
		return known.([]int)
	}
	defer func() { layouts.Store(key, has) }()
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

func (d *decoder) structure(v reflect.Value, fields []int) {
	for _, i := range fields {
		d.value(v.Field(i))
	}
}

func (d *decoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(d.Bool())
	case reflect.Int8:
		v.SetInt(int64(d.Int8()))
	case reflect.Int16:
		v.SetInt(int64(d.Int16()))
	case reflect.Int32:
		v.SetInt(int64(d.Int32()))
	case reflect.Int64:
		v.SetInt(d.Int64())
	case reflect.String:
		if s := d.NullableString(); s != nil {
			v.SetString(*s)
		}
	case reflect.Struct:
		d.structure(v, d.fields(v.Type()))
	case reflect.Slice:
		elem := v.Type().Elem()
		if elem.Kind() == reflect.Uint8 {
			v.SetBytes(d.NullableBytes())
			return
		}
		var fields []int
		if elem.Kind() == reflect.Struct {
			fields = d.fields(elem)
		}
		n := int(d.ArrayLen())
		for i := 0; i < n && d.Ok(); i++ { // it grows with the bytes that are there
			v.Grow(1)
			v.SetLen(i + 1)
			if item := v.Index(i); fields != nil {
				d.structure(item, fields)
			} else {
				d.value(item)
			}
		}
	}
}
