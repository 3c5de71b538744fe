package eventfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drain(t testing.TB, m *Merge) []Entry {
	t.Helper()
	var out []Entry
	for {
		e, ok, err := m.Next()
		if err != nil {
			t.Fatalf("merging: %v", err)
		}
		if !ok {
			return out
		}
		out = append(out, e)
	}
}

// The external sort is a stable sort, whatever fits in memory.
func TestSorterIsAStableSort(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(-3, 40), 0, 600).Draw(rt, "times")
		limit := rapid.IntRange(1, 20_000).Draw(rt, "limit")
		s := NewSorter(dir, limit)
		defer s.Close()
		want := make([]Entry, len(times))
		for i, at := range times {
			want[i] = Entry{Millis: at, Value: []byte(strconv.Itoa(i))}
			if i%7 == 0 {
				want[i].Digest, want[i].Length = []byte("digest"), int64(i)
			}
			if err := s.Add(want[i]); err != nil {
				rt.Fatal(err)
			}
		}
		slices.SortStableFunc(want, func(a, b Entry) int { return cmp.Compare(a.Millis, b.Millis) })
		for range 2 { // may be read twice
			m, err := s.Sorted()
			if err != nil {
				rt.Fatal(err)
			}
			got := drain(t, m)
			if len(got) != len(want) {
				rt.Fatalf("got %d entries, want %d", len(got), len(want))
			}
			for i := range want {
				if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
					rt.Fatalf("entry %d: got %v, want %v", i, got[i], want[i])
				}
			}
		}
	})
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left behind: %v (%v)", left, err)
	}
}

func TestSorterMergesLevels(t *testing.T) {
	s := NewSorter(t.TempDir(), 1) // one run per entry
	defer s.Close()
	const n = fanIn*fanIn + fanIn + 3
	for i := range n {
		if err := s.Add(Entry{Millis: int64(i * 7919 % 1000), Value: []byte(strconv.Itoa(i))}); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(len(s.levels[0]), len(s.levels[1]), len(s.levels[2])); got != "3 1 1" {
		t.Errorf("runs by level: got %s, want 3 1 1", got)
	}
	m, err := s.Sorted()
	if err != nil {
		t.Fatal(err)
	}
	got := drain(t, m)
	if len(got) != n || s.Len() != n {
		t.Fatalf("got %d entries, want %d", len(got), n)
	}
	for i := 1; i < n; i++ {
		a, b := got[i-1], got[i]
		before, _ := strconv.Atoi(string(a.Value))
		after, _ := strconv.Atoi(string(b.Value))
		if a.Millis > b.Millis || a.Millis == b.Millis && before > after {
			t.Fatalf("entries %d and %d are in the wrong order", i-1, i)
		}
	}
}

func TestSorterNamesTheDirectoryItCannotWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	err := NewSorter(dir, 1).Add(Entry{})
	if err == nil || !strings.Contains(err.Error(), "TMPDIR") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v", err)
	}
}

func FuzzReadEntry(f *testing.F) {
	f.Add([]byte{2, 0, 0, 1, 'x'})
	f.Add([]byte{1, 5, 2, 'd', 'd', 0})
	f.Add([]byte{1, 0, 0, 0xFF, 0xFF, 0xFF, 0x7F})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRunReader(b)
		for {
			if _, err := readEntry(r); err != nil {
				if errors.Is(err, io.EOF) && r.Buffered() > 0 {
					t.Error("end of file in the middle of an entry")
				}
				return
			}
		}
	})
}
