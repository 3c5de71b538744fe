package eventfile

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
)

// source returns entries in order of time, then io.EOF.
type source interface{ next() (Entry, error) }

// memory is a source over sorted entries.
type memory struct {
	entries []Entry
	at      int
}

func (m *memory) next() (Entry, error) {
	if m.at == len(m.entries) {
		return Entry{}, io.EOF
	}
	m.at++
	return m.entries[m.at-1], nil
}

// Merge returns the entries of several sources in order of time, those of equal time in the order
// of the sources. Not for concurrent use.
type Merge struct{ heads heads }

type head struct {
	entry Entry
	rank  int
	from  source
}

func newMerge(sources []source) (*Merge, error) {
	m := &Merge{}
	for rank, from := range sources {
		e, err := from.next()
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading back a sorted run: %w", err)
		}
		m.heads = append(m.heads, head{entry: e, rank: rank, from: from})
	}
	heap.Init(&m.heads)
	return m, nil
}

// Next returns the next entry; false after the last one.
func (m *Merge) Next() (Entry, bool, error) {
	if len(m.heads) == 0 {
		return Entry{}, false, nil
	}
	top := &m.heads[0]
	out := top.entry
	e, err := top.from.next()
	switch {
	case errors.Is(err, io.EOF):
		heap.Pop(&m.heads)
	case err != nil:
		return Entry{}, false, fmt.Errorf("reading back a sorted run: %w", err)
	default:
		top.entry = e
		heap.Fix(&m.heads, 0)
	}
	return out, true, nil
}

type heads []head

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	if h[i].entry.Millis != h[j].entry.Millis {
		return h[i].entry.Millis < h[j].entry.Millis
	}
	return h[i].rank < h[j].rank
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is never used: sources are known at the start.
func (h *heads) Push(x any) { *h = append(*h, x.(head)) }

// Pop removes the last element, as container/heap asks.
func (h *heads) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = head{}
	*h = old[:len(old)-1]
	return last
}
