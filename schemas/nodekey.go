package schemas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// maxCellKeyBytes is the length of the longest NodeKey.
const maxCellKeyBytes = MaxKeyBytes + 2 + 4

// Scale returns the scale of the metric's tree of nodes. For a histogram, PublicKeys are the edges.
// Scale fails if the metric's kind has no nodes, if the range is empty, or if the edges do not
// ascend from m.Min to m.Max.
func (m *MetricSpec) Scale() (*metrickind.Scale, error) {
	kind := metrickind.Of(m.Kind)
	if !kind.HasNodes() {
		return nil, fmt.Errorf("metric %s has no nodes", m.Name)
	}
	edges := make([]int64, len(m.PublicKeys))
	for i, key := range m.PublicKeys {
		if len(key) != 8 {
			return nil, fmt.Errorf("metric %s: edge %d has %d bytes instead of 8", m.Name, i, len(key))
		}
		edges[i] = int64(binary.BigEndian.Uint64(key) ^ 1<<63)
	}
	scale, err := kind.Part.Nodes(m.Bounds(), edges)
	if err == nil && len(edges) > 0 && (edges[0] != m.Min || edges[len(edges)-1] != m.Max) {
		err = errors.New("the outermost edges are not min and max")
	}
	if err != nil {
		return nil, fmt.Errorf("metric %s: %w", m.Name, err)
	}
	return scale, nil
}

// EdgeKeys encodes the edges of a histogram for PublicKeys, with 8 bytes per edge. The byte order
// of the keys is the order of the edges.
func EdgeKeys(edges []int64) (keys [][]byte) {
	for _, edge := range edges {
		keys = append(keys, binary.BigEndian.AppendUint64(nil, uint64(edge)^1<<63))
	}
	return keys
}

// NodeKey returns the key of a tree node's cell: the length of the metric's key in two bytes, the
// key, and the node's number in four bytes. In byte order, the nodes of a key are adjacent and
// sorted by number.
func NodeKey(key []byte, n metrickind.Node) []byte {
	out := make([]byte, 0, len(key)+6)
	out = binary.BigEndian.AppendUint16(out, uint16(len(key)))
	out = append(out, key...)
	return binary.BigEndian.AppendUint32(out, uint32(n))
}

// SplitNodeKey is the inverse of NodeKey; ok is false for bytes that NodeKey never returns.
func SplitNodeKey(b []byte) (key []byte, n metrickind.Node, ok bool) {
	if len(b) < 6 || int(binary.BigEndian.Uint16(b)) != len(b)-6 {
		return nil, 0, false
	}
	end := len(b) - 4
	return slices.Clip(b[2:end]), metrickind.Node(binary.BigEndian.Uint32(b[end:])), true
}
