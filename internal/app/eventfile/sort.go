package eventfile

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
)

// fanIn is how many runs of one level are merged at once, and so how many of its files are open.
const fanIn = 64

// Sorter puts entries in order of time, those of equal time in the order in
// which they were added. Up to limit bytes stay in memory; beyond that, sorted
// runs go to disk. Not for concurrent use.
//
// Runs are kept in levels: fanIn runs of one level are merged into one of the
// next, so that n entries are written O(log n) times and files stay few.
type Sorter struct {
	dir    string // where runs go; "" is the system's directory for temporary files
	limit  int
	buffer []Entry
	bytes  int
	levels [][]*run // runs of a higher level are older
	count  int64
}

// NewSorter returns a sorter that keeps at most limit bytes of entries in
// memory (less than 1: 64 MiB) and writes runs to dir ("": os.TempDir()).
func NewSorter(dir string, limit int) *Sorter {
	if limit < 1 {
		limit = 64 << 20
	}
	return &Sorter{dir: dir, limit: limit}
}

// Add adds an entry, whose bytes then belong to the sorter.
func (s *Sorter) Add(e Entry) error {
	s.buffer = append(s.buffer, e)
	s.bytes += e.size()
	s.count++
	if s.bytes < s.limit {
		return nil
	}
	return s.spill()
}

// Len returns the number of entries that were added.
func (s *Sorter) Len() int64 { return s.count }

// Sorted ends the adding and returns the entries in order. The sorter must
// stay open while they are read.
func (s *Sorter) Sorted() (*Merge, error) {
	s.order()
	var sources []source
	for _, level := range slices.Backward(s.levels) {
		for _, r := range level {
			if err := r.rewind(); err != nil {
				return nil, err
			}
			sources = append(sources, r)
		}
	}
	return newMerge(append(sources, &memory{entries: s.buffer}))
}

// Close removes all runs. The first error is returned.
func (s *Sorter) Close() error {
	var first error
	for _, level := range s.levels {
		for _, r := range level {
			if err := r.close(); err != nil && first == nil {
				first = err
			}
		}
	}
	s.levels, s.buffer = nil, nil
	return first
}

// order sorts the entries in memory. To sort times and indexes and then move each entry once is
// several times faster than a stable sort of the entries themselves.
func (s *Sorter) order() {
	type position struct{ millis, at int64 }
	keys := make([]position, len(s.buffer))
	for i, e := range s.buffer {
		keys[i] = position{e.Millis, int64(i)}
	}
	slices.SortFunc(keys, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.millis, b.millis), cmp.Compare(a.at, b.at))
	})
	sorted := make([]Entry, len(s.buffer))
	for i, k := range keys {
		sorted[i] = s.buffer[k.at]
	}
	s.buffer = sorted
}

func (s *Sorter) spill() error {
	s.order()
	m, err := newMerge([]source{&memory{entries: s.buffer}})
	if err != nil {
		return err
	}
	if err := s.store(0, m); err != nil {
		return err
	}
	clear(s.buffer)
	s.buffer, s.bytes = s.buffer[:0], 0
	return nil
}

// store writes a run of a level and merges the level when it is full.
func (s *Sorter) store(level int, m *Merge) error {
	r, err := writeRun(s.dir, m)
	if err != nil {
		return err
	}
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	s.levels[level] = append(s.levels[level], r)
	if len(s.levels[level]) < fanIn {
		return nil
	}
	full := s.levels[level]
	sources := make([]source, len(full))
	for i, r := range full {
		if err := r.rewind(); err != nil {
			return err
		}
		sources[i] = r
	}
	merged, err := newMerge(sources)
	if err != nil {
		return err
	}
	if err := s.store(level+1, merged); err != nil {
		return err
	}
	s.levels[level] = nil
	for _, r := range full {
		if err := r.close(); err != nil {
			return err
		}
	}
	return nil
}

// run is one sorted file.
type run struct {
	file *os.File
	r    *bufio.Reader
}

func writeRun(dir string, m *Merge) (_ *run, err error) {
	dir = cmp.Or(dir, os.TempDir())
	file, err := os.CreateTemp(dir, "tollgate-sort-*")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary file for sorting in %s (set TMPDIR to another directory): %w", dir, err)
	}
	// Raw records must not outlive a kill: without a name the file goes with the
	// process. Where an open file cannot be unlinked, close removes it.
	os.Remove(file.Name()) //nolint:errcheck // best effort, close tries again
	r := &run{file: file}
	defer func() {
		if err != nil {
			r.close() //nolint:errcheck // the first error counts
			err = fmt.Errorf("writing a temporary file for sorting in %s (set TMPDIR to a directory with room): %w", dir, err)
		}
	}()
	w := bufio.NewWriterSize(file, 1<<18)
	var scratch []byte
	for {
		e, ok, err := m.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if scratch, err = e.write(w, scratch); err != nil {
			return nil, err
		}
	}
	return r, w.Flush()
}

func (r *run) rewind() error {
	if _, err := r.file.Seek(0, 0); err != nil {
		return fmt.Errorf("reading back a sorted run: %w", err)
	}
	r.r = bufio.NewReaderSize(r.file, 1<<16)
	return nil
}

func (r *run) next() (Entry, error) {
	return readEntry(r.r)
}

func (r *run) close() error {
	name := r.file.Name()
	err := r.file.Close()
	if rm := os.Remove(name); rm != nil && !os.IsNotExist(rm) && err == nil {
		err = rm
	}
	return err
}
