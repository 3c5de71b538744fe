package eventfile

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// second reads the time from the last column.
func second(Head) (Clock, error) {
	return func(r Record) (int64, bool) {
		fields := strings.Split(string(r.Value), ",")
		n, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
		return n, err == nil
	}, nil
}

type timed struct {
	Millis int64
	Value  string
}

func all(t *testing.T, d *Dataset) []timed {
	t.Helper()
	var out []timed
	if err := d.Each(func(e Entry) error {
		out = append(out, timed{e.Millis, string(e.Value)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDatasetPutsBrokenRecordsAfterTheirPredecessor(t *testing.T) {
	path := file(t, "user,time\nbroken first\na,30\nbroken after 30\nb,10\nbroken after 10\nc,20\nd,30\n")
	d, err := Open(path, Options{Format: event.Format{Format: event.CSV}, Header: true, Fields: []string{"user",
		"time"}}, second)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	want := []timed{
		{10, "broken first"}, {10, "b,10"}, {10, "broken after 10"}, {20, "c,20"},
		{30, "a,30"}, {30, "broken after 30"}, {30, "d,30"},
	}
	if diff := cmp.Diff(want, all(t, d)); diff != "" {
		t.Errorf("order differs (-want +got):\n%s", diff)
	}
	if d.Records != 7 || d.Timed != 4 || d.First != 10 || d.Last != 30 {
		t.Errorf("got %d records, %d timed, from %d to %d", d.Records, d.Timed, d.First, d.Last)
	}
}

func TestDatasetWithoutAnyTime(t *testing.T) {
	d, err := Open(file(t, "x\ny\n"), Options{Format: event.Format{Format: event.JSONL}}, second)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if diff := cmp.Diff([]timed{{0, "x"}, {0, "y"}}, all(t, d)); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	opt := Options{Format: event.Format{Format: event.CSV}, Header: true, Fields: []string{"user", "time"}}
	for text, want := range map[string]string{
		"user,when\n":              `no column "time". The columns are user, when`,
		"user,time,user\n":         "columns 1 and 3 are both called",
		"us\"er,time\n":            "header line is not a csv record",
		"user,time,\xff\n":         "column 3 is not UTF-8: give the encoding of the file",
		"\x1f\x8b\x08\x00gzip cut": "gzip data end early",
	} {
		path := file(t, text)
		if _, err := Open(path, opt, second); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no.csv"), opt, second); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	if _, err := Open(t.TempDir(), opt, second); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: got %v", err)
	}
}
