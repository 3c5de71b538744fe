package eventfile

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
)

// Entry is a record with its time. Entries are sorted by time.
type Entry struct {
	Millis int64  // Unix milliseconds
	Value  []byte // original bytes, truncated to the limit of the splitter
}

// position is the place of an entry's bytes among the bytes of all entries, in the order in which
// the entries were added.
type position struct {
	millis, start int64
	size          int32
}

// Sorter sorts entries by time. Entries of equal time keep their order. Values stay in memory up to
// a limit in bytes; later values go to a file on disk. The times and positions of all entries stay
// in memory, with 24 bytes per entry. A Sorter must not be used concurrently.
type Sorter struct {
	dir       string // directory of the file
	limit     int
	positions []position
	memory    []byte   // the values up to the limit
	file      *os.File // the values after memory; nil if there are none
	writer    *bufio.Writer
	end       int64 // total length of the values
}

// NewSorter returns a sorter that keeps at most limit bytes of values in memory and writes the
// others to a file in dir. A limit below 1 stands for 64 MiB, and an empty dir for os.TempDir().
func NewSorter(dir string, limit int) *Sorter {
	if limit < 1 {
		limit = 64 << 20
	}
	return &Sorter{dir: cmp.Or(dir, os.TempDir()), limit: limit}
}

// Add adds an entry.
func (s *Sorter) Add(e Entry) (err error) {
	s.positions = append(s.positions, position{e.Millis, s.end, int32(len(e.Value))})
	s.end += int64(len(e.Value))
	if s.file == nil && s.end <= int64(s.limit) {
		s.memory = append(s.memory, e.Value...)
		return nil
	}
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, "tollgate-sort-*"); err != nil {
			return s.failed(err)
		}
		// Raw records must not outlive a kill: an unlinked file disappears with the process. If an
		// open file cannot be unlinked, Close removes it.
		os.Remove(s.file.Name()) //nolint:errcheck // best effort, Close tries again
		s.writer = bufio.NewWriterSize(s.file, 1<<18)
	}
	if _, err = s.writer.Write(e.Value); err != nil {
		return s.failed(err)
	}
	return nil
}

func (s *Sorter) failed(err error) error {
	return fmt.Errorf("writing a temporary file for sorting in %s (set TMPDIR to a directory with enough space): %w",
		s.dir, err)
}

// Each calls fn with every entry, in time order. Each can be called several times, but no entry
// can be added after the first call.
func (s *Sorter) Each(fn func(Entry) error) error {
	if s.file != nil {
		if err := s.writer.Flush(); err != nil {
			return s.failed(err)
		}
	}
	slices.SortFunc(s.positions, func(a, b position) int {
		// An empty value starts at the same offset as the next value, but has a smaller size.
		return cmp.Or(cmp.Compare(a.millis, b.millis), cmp.Compare(a.start, b.start), cmp.Compare(a.size, b.size))
	})
	for _, p := range s.positions {
		e, inMemory := Entry{Millis: p.millis}, int64(len(s.memory))
		if end := p.start + int64(p.size); end <= inMemory {
			e.Value = s.memory[p.start:end:end]
		} else {
			e.Value = make([]byte, p.size)
			if _, err := s.file.ReadAt(e.Value, p.start-inMemory); err != nil {
				return fmt.Errorf("reading back a temporary file for sorting: %w", err)
			}
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// Close removes the file on disk.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if rmErr := os.Remove(s.file.Name()); rmErr != nil && !os.IsNotExist(rmErr) && err == nil {
		err = rmErr
	}
	s.file, s.positions = nil, nil
	return err
}
