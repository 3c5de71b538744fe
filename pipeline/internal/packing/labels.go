package packing

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
	"github.com/tollgate-dp/tollgate/schemas"
)

// labels is a dictionary of the labels that a shard's events of a turn have.
type labels struct {
	list  []schemas.Label
	keys  []byte // memory of the labels' keys
	index index  // index of the labels by their hashes
}

// number returns the number of a label in the dictionary. It adds a new label, with a copy of its
// key. The cost does not depend on other labels of the key.
func (l *labels) number(seed maphash.Seed, label schemas.Label) uint32 {
	h := maphash.Bytes(seed, label.Key)
	if label.Passes != 0 {
		h ^= bits.RotateLeft64(maphash.Comparable(seed, label.Passes), 1)
	}
	n, found := l.index.find(uint32(h), func(n uint32) bool {
		return l.list[n].Passes == label.Passes && bytes.Equal(l.list[n].Key, label.Key)
	})
	if found {
		return n
	}
	n = uint32(len(l.list))
	from := len(l.keys)
	l.keys = append(l.keys, label.Key...)
	l.list = append(l.list, schemas.Label{Key: l.keys[from:len(l.keys):len(l.keys)], Passes: label.Passes})
	l.index.put(uint32(h), n)
	return n
}

func (l *labels) reset() {
	poison.Bytes(l.keys)
	poison.Fill(l.list, schemas.Label{Key: []byte("given back")})
	l.list, l.keys = l.list[:0], l.keys[:0]
	l.index.reset()
}
