package eventfile

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// packs returns a text in every compression, by the ending of the file.
func packs(t testing.TB, text []byte) map[string][]byte {
	t.Helper()
	var gz, two, zst bytes.Buffer
	half := len(text) / 2
	w, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return pack(gzip.NewWriter(&gz), text) },
		func() error { return pack(gzip.NewWriter(&two), text[:half]) },
		func() error { return pack(gzip.NewWriter(&two), text[half:]) }, // as cat a.gz b.gz has it
		func() error { return pack(w, text) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return map[string][]byte{"": text, ".gz": gz.Bytes(), ".two.gz": two.Bytes(), ".ZST": zst.Bytes()}
}

func pack(w io.WriteCloser, text []byte) error {
	_, err := w.Write(text)
	return errors.Join(err, w.Close())
}

// A compressed file is read like the original, whatever its name; a truncated one is an error at
// the cut, not a shorter file.
func TestCompressedFilesAreReadLikeTheOriginal(t *testing.T) {
	text := []byte("\uFEFFwho,at\n" + strings.Repeat("u1,17\n\"u,2\",19\n", 5000))
	for ending, packed := range packs(t, text) {
		if e := EncodingOfFile("visits.csv" + ending); e.Name != event.CSV && ending != ".two.gz" {
			t.Errorf("%q is taken for %q", ending, e.Name)
		}
		got := values(records(t, bytes.NewReader(packed), event.CSV, 0))
		if len(got) != 10_001 || got[0] != "who,at" || got[1] != "u1,17" || got[10_000] != `"u,2",19` {
			t.Errorf("%q: %d records, the first is %q", ending, len(got), got[:min(1, len(got))])
		}
		if ending == "" {
			continue
		}
		s := NewSplitter(bytes.NewReader(packed[:len(packed)-9]), event.Format{Format: event.CSV}, 0)
		var err error
		for err == nil {
			_, err = s.Next()
		}
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "data end early after ") {
			t.Errorf("%q without its end: %v", ending, err)
		}
		packed[len(packed)-6] ^= 1 // in the checksum
		for s, err = NewSplitter(bytes.NewReader(packed), event.Format{Format: event.CSV}, 0), nil; err == nil; {
			_, err = s.Next()
		}
		if ending != ".ZST" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(),
			"data are damaged after ")) {
			t.Errorf("%q, damaged: %v", ending, err)
		}
	}
	for mark, want := range map[string]string{"PK\x03\x04": "unzip -p", "\xfd7zXZ\x00": "xz -dc",
		"BZh91AY&SY": "bzip2 -dc", "\x78\x9c": "pigz -dcz"} {
		if err := NewSplitter(strings.NewReader(mark+"abcdef"), event.Format{Format: event.CSV},
			0).Begin(); !errors.Is(err, ErrEncoding) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", mark, err)
		}
	}
}

// Objects in an array, or with indentation, are the same records as one object a line. An array
// without an end is damaged.
func TestObjectsInAnArrayAreRecords(t *testing.T) {
	want := []string{`{"a":"},]\"{","b":[1,{"c":[]}]}`, `{}`, `{"a":"\\"}`, "7", `"x, y"`, `{"a":`}
	for name, text := range map[string]string{
		"in one line":   "[" + strings.Join(want, ",") + "",
		"in lines":      "\uFEFF\n[\r\n\t" + strings.Join(want[:3], ",\r\n\t") + ",\r\n 7,\n\"x, y\"\n,{\"a\":",
		"in two arrays": "[" + strings.Join(want[:3], " , ") + "]\n[7, \"x, y\"]" + want[5],
	} {
		s := NewSplitter(strings.NewReader(text), event.Format{Format: event.JSONL}, 0)
		var got []string
		var lines []int64
		var err error
		var r Record
		for r, err = s.Next(); err == nil; r, err = s.Next() {
			got, lines = append(got, string(r.Value)), append(lines, r.Line)
		}
		whole, ends, numbers := want, io.EOF, []int64{1, 2, 3, 4, 5, 6}
		if name != "in two arrays" {
			whole, ends, numbers = want[:5], ErrDamaged, numbers[:5]
		}
		if !errors.Is(err, ends) || !slices.Equal(got, whole) || !slices.Equal(lines, numbers) || s.Unit() != "record" {
			t.Errorf("%s: %q in %s %v, then %v", name, got, s.Unit(), lines, err)
		}
	}
	over := records(t, strings.NewReader("{\n  \"a\": 1,\n  \"b\": {}\n}\n{\n  \"a\": 2\n}\n"), event.JSONL, 0)
	if got := values(over); !slices.Equal(got, []string{"{\n  \"a\": 1,\n  \"b\": {}\n}", "{\n  \"a\": 2\n}"}) {
		t.Errorf("over lines: %q", got)
	}
	long := records(t, strings.NewReader(`[{"a":"`+strings.Repeat("x", 100)+`"},{}]`), event.JSONL, 50)
	if len(long) != 2 || len(long[0].Value) != 50 || !long[0].Cut || long[1].Cut {
		t.Errorf("beyond the limit: %+v", long)
	}
}

// No text makes the reader of objects panic, loop or lose bytes, except those between records.
func FuzzObjects(f *testing.F) {
	for _, seed := range []string{"[]", `[{"a":1},{"b":"]}\""}]`, "{\n\"a\":1}\n{}", `[[[`, `[{"a"]}`, "[{", `["\`,
		"\uFEFF[{}", "[{}]x{}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		s := NewSplitter(bytes.NewReader(file), event.Format{Format: event.JSONL}, 0)
		if s.Begin() != nil || sniff(file) != "" || !s.lines.spread || bytes.HasPrefix(file, []byte("\x1f\x8b")) ||
			bytes.HasPrefix(file, []byte("\x28\xb5")) {
			t.Skip()
		}
		rest := bytes.TrimPrefix(file, mark)
		for number := int64(1); ; number++ {
			r, err := s.Next()
			if errors.Is(err, ErrDamaged) {
				return
			}
			if errors.Is(err, io.EOF) {
				break
			}
			rest = bytes.TrimLeft(rest, " \t\r\n,[]")
			if err != nil || r.Line != number || len(r.Value) == 0 || !bytes.HasPrefix(rest, bytes.TrimLeft(r.Value,
				" \t\r\n,[]")) {
				t.Fatalf("record %d is %q (%v), and %q is left", number, r.Value, err, rest)
			}
			rest = rest[len(r.Value):]
		}
		if left := bytes.Trim(rest, " \t\r\n,[]"); len(left) > 0 {
			t.Errorf("%q is in no record", left)
		}
	})
}

// Unpacking ends for every input, with its contents or an error.
func FuzzUnpacked(f *testing.F) {
	for _, packed := range packs(f, []byte("a,b\nc,d\n")) {
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		s := NewSplitter(io.LimitReader(bytes.NewReader(file), 1<<12), event.Format{Format: event.TSV}, 1<<10)
		for n := 0; n < 1<<12; n++ {
			if _, err := s.Next(); err != nil {
				return
			}
		}
	})
}
