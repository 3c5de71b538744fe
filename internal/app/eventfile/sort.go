package eventfile

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Entry is a record with its time, the key of the sort.
type Entry struct {
	Millis int64  // Unix milliseconds
	Value  []byte // original bytes, at most the splitter's limit
}

const entryOverhead = 96 // bytes of slice headers, time and index, rounded up

// write appends the entry to a run.
func (e Entry) write(w *bufio.Writer) error {
	b := binary.AppendVarint(w.AvailableBuffer(), e.Millis)
	w.Write(binary.AppendUvarint(b, uint64(len(e.Value)))) //nolint:errcheck // the last write returns the error of any
	_, err := w.Write(e.Value)
	return err
}

// readEntry reads an entry of a run. It returns io.EOF only between entries.
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

// Sorter sorts entries by time; entries of equal time keep their order. Up to limit bytes stay in
// memory; beyond that, sorted runs go to one file on disk. Not for concurrent use.
type Sorter struct {
	dir    string // directory of the file
	limit  int
	buffer []Entry
	bytes  int
	file   *os.File // the runs, one after another; nil if there are none
	ends   []int64  // end of each run in the file
}

// NewSorter returns a sorter that keeps at most limit bytes of entries in memory (64 MiB if limit
// is less than 1) and writes runs to dir (os.TempDir() if dir is "").
func NewSorter(dir string, limit int) *Sorter {
	if limit < 1 {
		limit = 64 << 20
	}
	return &Sorter{dir: cmp.Or(dir, os.TempDir()), limit: limit}
}

// Add adds an entry, whose bytes then belong to the sorter.
func (s *Sorter) Add(e Entry) error {
	s.buffer = append(s.buffer, e)
	if s.bytes += len(e.Value) + entryOverhead; s.bytes < s.limit {
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
		// Raw records must not outlive a kill: an unlinked file disappears with the process. If an
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

// order sorts the entries in memory. Sorting times with indexes and then moving each entry once is
// several times faster than a stable sort of the entries.
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

// run is a sorted sequence of entries that is being read.
type run struct {
	first Entry                 // the next entry
	next  func() (Entry, error) // reads the one after it, or returns io.EOF
}

// Each calls fn with every entry, in order. It can be called again, but nothing can be added after
// it.
func (s *Sorter) Each(fn func(Entry) error) error {
	s.order()
	rest := s.buffer
	memory := run{next: func() (e Entry, err error) {
		if len(rest) == 0 {
			return e, io.EOF
		}
		e, rest = rest[0], rest[1:]
		return e, nil
	}}
	var runs []run // in the order of the file, so that the earlier of two equal times comes first
	// The read-ahead of all runs together fits in the limit, but is at least a page of each.
	ahead, start := min(max(s.limit/(1+len(s.ends)), 1<<12), 1<<16), int64(0)
	for _, end := range s.ends {
		r := bufio.NewReaderSize(io.NewSectionReader(s.file, start, end-start), ahead)
		runs = append(runs, run{next: func() (Entry, error) { return readEntry(r) }})
		start = end
	}
	runs = append(runs, memory)
	for i := len(runs) - 1; i >= 0; i-- {
		if err := advance(&runs, i); err != nil {
			return err
		}
	}
	for len(runs) > 0 {
		least := 0
		for i := range runs {
			if runs[i].first.Millis < runs[least].first.Millis {
				least = i
			}
		}
		if err := fn(runs[least].first); err != nil {
			return err
		}
		if err := advance(&runs, least); err != nil {
			return err
		}
	}
	return nil
}

// advance reads the next entry of a run, or removes the run at its end.
func advance(runs *[]run, i int) (err error) {
	r := &(*runs)[i]
	if r.first, err = r.next(); errors.Is(err, io.EOF) {
		*runs = slices.Delete(*runs, i, i+1)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading back a sorted run: %w", err)
	}
	return nil
}

// Close removes the file.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if removed := os.Remove(s.file.Name()); removed != nil && !os.IsNotExist(removed) && err == nil {
		err = removed
	}
	s.file, s.buffer = nil, nil
	return err
}
