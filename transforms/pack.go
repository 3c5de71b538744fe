package transforms

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	beam.RegisterDoFn(&packFn{})
	register.Iter1[[]byte]()
	register.Emitter2[int, []byte]()
}

// Pack combines a shard's blobs in one tick into one element. It precedes every stage but Read.
//
// In: KV<int, []byte>, blobs by shard, each with the event time of its tick (a whole second of
// Beam's time; elements without their own time share one tick). Out: KV<int, []byte>, one pack of
// blobs for each shard and tick, in the global window, with the time of the tick. Pack emits it
// when the watermark has passed the tick.
//
// Blobs may be in any order. The runner drops blobs that arrive after the watermark has passed
// their tick. Unpack splits a pack into blobs.
func Pack(s beam.Scope, blobs beam.PCollection) beam.PCollection {
	s = s.Scope("pack")
	return inGlobal(s, beam.ParDo(s, &packFn{}, beam.GroupByKey(s, inTicks(s, blobs))))
}

// packFn converts a group to one element. Every stage after a GroupByKey needs it, because a
// grouped value cannot be moved to another window.
type packFn struct{}

// ProcessElement packs the blobs of a group, in order of arrival.
func (f *packFn) ProcessElement(shard int, blobs func(*[]byte) bool, emit func(int, []byte)) error {
	var all [][]byte
	var b []byte
	size := 0
	for blobs(&b) {
		all = append(all, b)
		size += binary.MaxVarintLen64 + len(b)
		b = nil
	}
	packed := make([]byte, 0, size)
	for _, b := range all {
		packed = appendBlob(packed, b)
	}
	emit(shard, packed)
	return nil
}

// ErrMalformedPack is returned for bytes that Pack did not write.
var ErrMalformedPack = errors.New("malformed pack of blobs")

// Unpack splits a pack into its blobs, for stages outside this package. The blobs share the memory
// of packed. The error is ErrMalformedPack.
func Unpack(packed []byte) ([][]byte, error) {
	blobs, ok := splitBlobs(packed)
	if !ok {
		return nil, fmt.Errorf("splitting a pack into its blobs: %w", ErrMalformedPack)
	}
	return blobs, nil
}

// appendBlob appends a blob, prefixed with its length.
func appendBlob(dst, blob []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(blob))), blob...)
}

// splitBlobs reverses any number of appendBlob calls. It returns false for bytes that appendBlob
// did not write. The blobs share the memory of b.
func splitBlobs(b []byte) ([][]byte, bool) {
	var blobs [][]byte
	for len(b) > 0 {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			return nil, false
		}
		blobs = append(blobs, b[used:used+int(n)])
		b = b[used+int(n):]
	}
	return blobs, true
}
