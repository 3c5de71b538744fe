package transforms

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn3x1[int, func(*[]byte) bool, func(int, []byte), error](&packFn{})
	register.Iter1[[]byte]()
	register.Emitter2[int, []byte]()
}

// packFn turns a group into one element. Every stage behind a group needs it:
// a group cannot leave its window as a group, and keyed state wants one
// element per shard and turn.
type packFn struct{}

// ProcessElement frames a group's blobs, in the order they came.
func (f *packFn) ProcessElement(shard int, blobs func(*[]byte) bool, emit func(int, []byte)) error {
	var packed, b []byte
	for blobs(&b) {
		packed = binary.AppendUvarint(packed, uint64(len(b)))
		packed = append(packed, b...)
		b = nil
	}
	emit(shard, packed)
	return nil
}

// ErrMalformedPack is returned for bytes that packFn did not write.
var ErrMalformedPack = errors.New("malformed pack of blobs")

// unpack splits what packFn framed. The blobs share packed's memory.
func unpack(packed []byte) ([][]byte, error) {
	var blobs [][]byte
	for len(packed) > 0 {
		n, used := binary.Uvarint(packed)
		if used <= 0 || n > uint64(len(packed)-used) {
			return nil, fmt.Errorf("splitting a group into its blobs: %w", ErrMalformedPack)
		}
		blobs = append(blobs, packed[used:used+int(n)])
		packed = packed[used+int(n):]
	}
	return blobs, nil
}
