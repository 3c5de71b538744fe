package schemas

import (
	"encoding/binary"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// maxCellKeyBytes is the greatest length of a key in a cell: the length of the longest NodeKey.
const maxCellKeyBytes = MaxKeyBytes + 2 + 4

// NodeKey returns the key of a cell that belongs to a node of a tree of values: the length of the
// metric's key in two bytes, the key itself, and the number of the node in four bytes. In the order
// of bytes, all nodes of a key follow each other, sorted by number, with no other key in between.
func NodeKey(key []byte, n metrickind.Node) []byte {
	out := make([]byte, 0, len(key)+6)
	out = binary.BigEndian.AppendUint16(out, uint16(len(key)))
	out = append(out, key...)
	return binary.BigEndian.AppendUint32(out, uint32(n))
}

// SplitNodeKey is the inverse of NodeKey; ok is false for bytes that NodeKey cannot return.
func SplitNodeKey(b []byte) (key []byte, n metrickind.Node, ok bool) {
	if len(b) < 6 || int(binary.BigEndian.Uint16(b)) != len(b)-6 {
		return nil, 0, false
	}
	end := len(b) - 4
	return slices.Clip(b[2:end]), metrickind.Node(binary.BigEndian.Uint32(b[end:])), true
}
