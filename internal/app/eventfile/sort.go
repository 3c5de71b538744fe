package eventfile

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Entry is a record with the time by which it is sorted.
type Entry struct {
	Millis int64  // Unix milliseconds
	Value  []byte // original bytes, at most the splitter's limit
}

// size returns how much memory an entry takes while it waits to be sorted, in bytes.
func (e Entry) size() int { return len(e.Value) + entryOverhead }

const entryOverhead = 96 // slice headers, time and index, rounded up

// write appends the entry to a run.
func (e Entry) write(w *bufio.Writer) error {
	b := binary.AppendVarint(w.AvailableBuffer(), e.Millis)
	w.Write(binary.AppendUvarint(b, uint64(len(e.Value)))) //nolint:errcheck // the last write returns the error of any
	_, err := w.Write(e.Value)
	return err
}

// readEntry reads what write wrote. It returns io.EOF only after a whole entry.
func readEntry(r *bufio.Reader) (e Entry, err error) {
	if e.Millis, err = binary.ReadVarint(r); err != nil {
		return e, err
	}
	size, err := binary.ReadUvarint(r)
	if err == nil {
		e.Value = make([]byte, size)
		_, err = io.ReadFull(r, e.Value)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return e, err
}

// Sorter puts entries in order of time, entries of equal time in the order of addition. Up to limit
// bytes stay in memory; beyond that, sorted runs go to one file on disk. Not for concurrent use.
type Sorter struct {
	dir    string // where the file goes; "" is the system's directory for temporary files
	limit  int
	buffer []Entry
	bytes  int
	file   *os.File // the runs, one after another; nil: there are none
	ends   []int64  // where each run ends in the file
}

// NewSorter returns a sorter that keeps at most limit bytes of entries in
// memory (less than 1: 64 MiB) and writes runs to dir ("": os.TempDir()).
func NewSorter(dir string, limit int) *Sorter {
	if limit < 1 {
		limit = 64 << 20
	}
	return &Sorter{dir: cmp.Or(dir, os.TempDir()), limit: limit}
}

// Add adds an entry, whose bytes then belong to the sorter.
func (s *Sorter) Add(e Entry) error {
	s.buffer = append(s.buffer, e)
	s.bytes += e.size()
	if s.bytes < s.limit {
		return nil
	}
	if err := s.spill(); err != nil {
		return fmt.Errorf("writing a temporary file for sorting in %s (set TMPDIR to a directory with room): %w", s.dir,
			err)
	}
	return nil
}

// spill writes the entries in memory to the file, as one run.
func (s *Sorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, "tollgate-sort-*"); err != nil {
			return err
		}
		// Raw records must not outlive a kill: a file without a name ends with the process. If an
		// open file cannot be unlinked, Close removes it.
		os.Remove(s.file.Name()) //nolint:errcheck // best effort, Close tries again
	}
	s.order()
	w := bufio.NewWriterSize(s.file, 1<<18)
	for _, e := range s.buffer {
		if err := e.write(w); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	end, err := s.file.Seek(0, io.SeekCurrent)
	s.ends = append(s.ends, end)
	clear(s.buffer)
	s.buffer, s.bytes = s.buffer[:0], 0
	return err
}

// order sorts the entries in memory. To sort times and indexes and then move each entry once is
// several times faster than a stable sort of the entries themselves.
func (s *Sorter) order() {
	type position struct{ millis, index int64 }
	keys := make([]position, len(s.buffer))
	for i, e := range s.buffer {
		keys[i] = position{e.Millis, int64(i)}
	}
	slices.SortFunc(keys, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.millis, b.millis), cmp.Compare(a.index, b.index))
	})
	sorted := make([]Entry, len(s.buffer))
	for i, k := range keys {
		sorted[i] = s.buffer[k.index]
	}
	s.buffer = sorted
}

// Sorted ends the adding and returns the entries in order. The sorter must
// stay open while they are read.
func (s *Sorter) Sorted() (*Merge, error) {
	s.order()
	m := &Merge{}
	from := int64(0)
	// The read-ahead of all runs together fits in the limit, down to a page of each.
	ahead := min(max(s.limit/(1+len(s.ends)), 1<<12), 1<<16)
	for _, end := range s.ends {
		run := bufio.NewReaderSize(io.NewSectionReader(s.file, from, end-from), ahead)
		from = end
		if err := m.add(func() (Entry, error) { return readEntry(run) }); err != nil {
			return nil, err
		}
	}
	rest := s.buffer
	err := m.add(func() (e Entry, err error) {
		if len(rest) == 0 {
			return e, io.EOF
		}
		e, rest = rest[0], rest[1:]
		return e, nil
	})
	heap.Init(m)
	return m, err
}

// Close removes the file.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if rm := os.Remove(s.file.Name()); rm != nil && !os.IsNotExist(rm) && err == nil {
		err = rm
	}
	s.file, s.buffer = nil, nil
	return err
}

// Merge returns the entries of several runs in order of time, entries of equal time in the order of
// the runs. Not for concurrent use.
type Merge []head // a heap

// head is the first entry of a run that was not returned.
type head struct {
	entry Entry
	rank  int
	next  func() (Entry, error) // io.EOF: there are no more
}

// add adds a run, unless it is empty.
func (m *Merge) add(next func() (Entry, error)) error {
	e, err := next()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("reading back a sorted run: %w", err)
	}
	*m = append(*m, head{e, len(*m), next})
	return nil
}

// Next returns the next entry; false after the last one.
func (m *Merge) Next() (Entry, bool, error) {
	if len(*m) == 0 {
		return Entry{}, false, nil
	}
	top := &(*m)[0]
	out := top.entry
	var err error
	switch top.entry, err = top.next(); {
	case errors.Is(err, io.EOF):
		heap.Pop(m)
	case err != nil:
		return Entry{}, false, fmt.Errorf("reading back a sorted run: %w", err)
	default:
		heap.Fix(m, 0)
	}
	return out, true, nil
}

// Len is for container/heap, as are Less, Swap, Push and Pop.
func (m Merge) Len() int { return len(m) }

func (m Merge) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(m[i].entry.Millis, m[j].entry.Millis), cmp.Compare(m[i].rank, m[j].rank)) < 0
}

func (m Merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

func (m *Merge) Push(x any) { *m = append(*m, x.(head)) }

func (m *Merge) Pop() any {
	last := len(*m) - 1
	out := (*m)[last]
	*m = (*m)[:last]
	return out
}
