package schemas

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Label is the key of an event together with the set of the deployment's filters that the event
// passes. Contributions, deltas and slices contain dictionaries of labels.
type Label struct {
	Key    []byte
	Passes uint64 // bit i: the event passes filter i
}

// Compare orders labels by key, then by filters.
func (l Label) Compare(o Label) int {
	return cmp.Or(bytes.Compare(l.Key, o.Key), cmp.Compare(l.Passes, o.Passes))
}

// labels encodes or decodes a dictionary. If sorted is set, the labels must be in strictly
// ascending order. If no label passes a filter, one byte says so and Passes is omitted everywhere.
func (w *wire) labels(labels *[]Label, sorted bool) {
	if w.reading {
		*labels = w.readLabels()
	} else {
		filtered := anyPasses(*labels)
		w.length(len(*labels), 1, "labels")
		w.bool(&filtered, "labels")
		dst := w.out
		for _, l := range *labels {
			dst = append(binary.AppendUvarint(dst, uint64(len(l.Key))), l.Key...)
			if filtered {
				dst = binary.AppendUvarint(dst, l.Passes)
			}
		}
		w.out = dst
	}
	for i, l := range *labels {
		if len(l.Key) > MaxKeyBytes || sorted && i > 0 && (*labels)[i-1].Compare(l) >= 0 {
			w.fail("labels too long or out of order")
		}
	}
}

func (w *wire) readLabels() []Label {
	const what = "labels"
	var filtered bool
	n := w.readUint(math.MaxUint64, what)
	if w.bool(&filtered, what); n > uint64(len(w.rest)) {
		w.fail("labels: longer than the rest of the record")
		return nil
	}
	labels := make([]Label, n)
	for i := range labels {
		w.bytes(&labels[i].Key, MaxKeyBytes, what)
		if filtered {
			w.uint(&labels[i].Passes, what)
		}
	}
	if filtered && !anyPasses(labels) {
		w.fail("labels: no label passes a filter, but filters are announced")
	}
	return labels
}

func anyPasses(labels []Label) bool {
	return slices.ContainsFunc(labels, func(l Label) bool { return l.Passes != 0 })
}
