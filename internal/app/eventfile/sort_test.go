package eventfile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The external sort is a stable sort, however little fits in memory.
func TestSorterIsAStableSort(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(-3, 40), 0, 600).Draw(rt, "times")
		limit := rapid.IntRange(1, 2000).Draw(rt, "limit")
		s := NewSorter(dir, limit)
		defer s.Close()
		want := make([]Entry, len(times))
		for i, millis := range times {
			want[i] = Entry{Millis: millis, Value: []byte(strconv.Itoa(i))}
			if err := s.Add(want[i]); err != nil {
				rt.Fatal(err)
			}
		}
		slices.SortStableFunc(want, func(a, b Entry) int { return cmp.Compare(a.Millis, b.Millis) })
		for range 2 { // may be read twice
			var got []Entry
			err := s.Each(func(e Entry) error { got = append(got, e); return nil })
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				rt.Fatalf("got %v, %v, want %v", got, err, want)
			}
		}
	})
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left behind: %v (%v)", left, err)
	}
}

func TestSorterNamesTheDirectoryItCannotWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	err := NewSorter(dir, 1).Add(Entry{Value: []byte("ab")})
	if err == nil || !strings.Contains(err.Error(), "TMPDIR") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v", err)
	}
}
