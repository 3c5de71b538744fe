package schemas

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// Label is what an event says besides its user, time and value: its key, and which of the
// deployment's filters it passes. Contributions, deltas and slices have dictionaries of labels.
type Label struct {
	Key    []byte
	Passes uint64 // bit i: the event passes filter i
}

// Compare orders labels by key, then by filters.
func (l Label) Compare(o Label) int {
	return cmp.Or(bytes.Compare(l.Key, o.Key), cmp.Compare(l.Passes, o.Passes))
}

// appendLabels writes a dictionary. In deployments without filters, Passes takes one byte for all
// labels together.
func appendLabels(dst []byte, labels []Label) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(labels)))
	filtered := false
	for _, l := range labels {
		filtered = filtered || l.Passes != 0
	}
	dst = appendBool(dst, filtered)
	for _, l := range labels {
		dst = appendBytes(dst, l.Key)
		if filtered {
			dst = binary.AppendUvarint(dst, l.Passes)
		}
	}
	return dst
}

// labels reads a dictionary; sorted demands strictly ascending order.
func (d *wireDecoder) labels(what string, sorted bool) []Label {
	n := d.uvarint(what)
	filtered := d.bool(what)
	if n > uint64(len(d.rest)) {
		d.fail(what + ": longer than the rest of the record")
		return nil
	}
	labels := make([]Label, 0, n)
	some := false
	for i := uint64(0); i < n && d.err == nil; i++ {
		l := Label{Key: d.bytes(what, MaxKeyBytes)}
		if filtered {
			l.Passes = d.uvarint(what)
			some = some || l.Passes != 0
		}
		if sorted && i > 0 && d.err == nil && labels[i-1].Compare(l) >= 0 {
			d.fail(what + " out of order")
		}
		labels = append(labels, l)
	}
	if filtered && !some {
		d.fail(what + ": no label passes a filter, but filters are announced")
	}
	return labels
}

func labelsValid(labels []Label, sorted bool) bool {
	for i, l := range labels {
		if len(l.Key) > MaxKeyBytes || sorted && i > 0 && labels[i-1].Compare(l) >= 0 {
			return false
		}
	}
	return true
}
