package eventfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// tester is what testing.TB and rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(string, ...any)
}

func records(t tester, r io.Reader, format string, limit int) []Record {
	t.Helper()
	s := NewSplitter(r, event.Format{Format: format}, limit)
	var out []Record
	for {
		record, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("splitting: %v", err)
		}
		out = append(out, record)
	}
}

func values(rs []Record) []string {
	var out []string
	for _, r := range rs {
		out = append(out, string(r.Value))
	}
	return out
}

func TestSplitter(t *testing.T) {
	for _, tc := range []struct {
		name   string
		format string
		in     string
		want   []string
	}{
		{"empty file", event.CSV, "", nil},
		{"only line breaks", event.CSV, "\n\r\n\n", nil},
		{"last line without terminator", event.CSV, "a,b\nc,d", []string{"a,b", "c,d"}},
		{"CRLF is no part of a record", event.CSV, "a,b\r\nc,d\r\n", []string{"a,b", "c,d"}},
		{"empty lines are no records", event.CSV, "a\n\n\nb\n", []string{"a", "b"}},
		{"quoted comma", event.CSV, "\"a,b\",c\nd\n", []string{"\"a,b\",c", "d"}},
		{"quoted line break", event.CSV, "\"a\nb\",c\nd\n", []string{"\"a\nb\",c", "d"}},
		{"quoted CRLF keeps its bytes", event.CSV, "\"a\r\nb\",c\r\nd\r\n", []string{"\"a\r\nb\",c", "d"}},
		{"quoted empty lines", event.CSV, "x,\"a\n\n\nb\"\nd\n", []string{"x,\"a\n\n\nb\"", "d"}},
		{"doubled quotes", event.CSV, "\"a\"\"\nb\",c\nd\n", []string{"\"a\"\"\nb\",c", "d"}},
		{"two quoted fields over lines", event.CSV, "\"a\nb\",\"c\nd\"\ne\n", []string{"\"a\nb\",\"c\nd\"", "e"}},
		{"quote inside a bare field breaks its line only", event.CSV, "a\"b\nc\n", []string{"a\"b", "c"}},
		{"text after a closing quote breaks the first line only", event.CSV, "\"a\nb\"x\nc\n", []string{"\"a", "b\"x",
			"c"}},
		{"quote that is never closed breaks the first line only", event.CSV, "1,\"a\n2,b\n3,c\n",
			[]string{"1,\"a", "2,b", "3,c"}},
		{"lines after an open quote may be records over lines", event.CSV, "1,\"a\n2,\"x\ny\"\n3,c\n",
			[]string{"1,\"a", "2,\"x\ny\"", "3,c"}},
		{"tsv has no quotes", event.TSV, "\"a\tb\nc\td\"\n", []string{"\"a\tb", "c\td\""}},
		{"jsonl is one a line", event.JSONL, "{1}\n\n{\"\\n\"}\n", []string{"{1}", "{\"\\n\"}"}},
		{"jsonl with commas after its lines", event.JSONL, `{"a":1},` + "\n" + `{"b":","},`,
			[]string{`{"a":1}`, `{"b":","}`}},
		{"jsonl with commas before its lines", event.JSONL, `{"a":1}` + "\n" + `,{"b":2}`,
			[]string{`{"a":1}`, `{"b":2}`}},
		{"jsonl without lines", event.JSONL, `{"a":1}{"b":2} {}`, []string{`{"a":1}`, `{"b":2}`, `{}`}},
		{"jsonl with record separators", event.JSONL, "\x1e{1}\n\x1e{\n2}\n", []string{"{1}", "{\n2}"}},
		{"byte order mark is dropped", event.CSV, "\uFEFFa,b\n", []string{"a,b"}},
		{"lone carriage returns stay", event.JSONL, "a\rb\nc\r", []string{"a\rb", "c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, values(records(t, strings.NewReader(tc.in), tc.format, 0))); diff != "" {
				t.Errorf("records differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSplitterNumbersLines(t *testing.T) {
	got := records(t, strings.NewReader("a\n\n\"b\nc\"\nd\n"), event.CSV, 0)
	var lines []int64
	for _, r := range got {
		lines = append(lines, r.Line)
	}
	if !slices.Equal(lines, []int64{1, 3, 5}) {
		t.Errorf("first lines of records: got %v, want [1 3 5]", lines)
	}
}

func TestSplitterTruncatesOversizedRecords(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, in := range []string{long, long + "\n", long + "\r\n"} {
		got := records(t, strings.NewReader("a\n"+in), event.JSONL, 100)
		if len(got) != 2 {
			t.Fatalf("got %d records, want 2", len(got))
		}
		if r := got[1]; string(r.Value) != long[:100] || !r.Cut || got[0].Cut {
			t.Errorf("truncated record: %d bytes kept, cut %t", len(r.Value), r.Cut)
		}
	}
	t.Run("a quoted record beyond the limit counts as an open quote", func(t *testing.T) {
		in := "1,\"" + strings.Repeat("y\n", 100) + "\"\nz\n"
		got := values(records(t, strings.NewReader(in), event.CSV, 50))
		if got[0] != "1,\"y" || got[1] != "y" || got[len(got)-1] != "z" {
			t.Errorf("got %q", got)
		}
	})
}

// A text in another encoding has the same records as in UTF-8. UTF-16 is detected.
func TestSplitterReadsOtherCharsetsAndSeparators(t *testing.T) {
	const text = "user;page\nu1;caf\u00e9\nu2;\"a;b\nc\"\n"
	wide := func(mark string, swap int) string {
		for _, unit := range utf16.Encode([]rune(text)) {
			pair := [2]byte{byte(unit), byte(unit >> 8)}
			mark += string([]byte{pair[swap], pair[1-swap]})
		}
		return mark
	}
	for name, c := range map[string]struct{ charset, text string }{
		"UTF-8": {"", text}, "UTF-8 by name": {"utf-8", text},
		"latin1": {"latin1", strings.ReplaceAll(text, "\u00e9", "\xe9")}, "cp1252": {"cp1252", strings.ReplaceAll(text,
			"\u00e9", "\xe9")},
		"UTF-16LE": {"", wide("\xff\xfe", 0)}, "UTF-16BE": {"utf-16", wide("\xfe\xff", 1)},
	} {
		format := event.Format{Format: event.CSV, Separator: ";", Charset: c.charset}
		s := NewSplitter(strings.NewReader(c.text), format, 0)
		var got []string
		for r, err := s.Next(); err == nil; r, err = s.Next() {
			got = append(got, string(r.Value))
		}
		if !slices.Equal(got, []string{"user;page", "u1;caf\u00e9", "u2;\"a;b\nc\""}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Rows written by encoding/csv, with either terminator, are returned one by one.
func TestSplitterAgreesWithCSVWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.StringOf(rapid.SampledFrom([]rune("ab,\"\n\r\t é")))
		rows := rapid.SliceOfN(rapid.SliceOfN(field, 2, 4), 0, 20).Draw(t, "rows")
		crlf := rapid.Bool().Draw(t, "crlf")
		var file bytes.Buffer
		w := csv.NewWriter(&file)
		w.UseCRLF = crlf
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		agree(t, file.Bytes())
	})
}

// agree compares the splitter with encoding/csv, and checks that only line terminators between
// records are dropped.
func agree(t tester, file []byte) {
	t.Helper()
	got, rest := records(t, bytes.NewReader(file), event.CSV, 1<<20), file
	for i, r := range got {
		rest = bytes.TrimLeft(rest, "\r\n")
		kept := bytes.TrimLeft(r.Value, "\r\n")
		if !bytes.HasPrefix(rest, kept) {
			t.Fatalf("record %d is not the next part of the file", i)
		}
		rest = rest[len(kept):]
	}
	if rest = bytes.TrimRight(rest, "\r\n"); len(rest) != 0 {
		t.Fatalf("%d bytes are in no record", len(rest))
	}
	r := csv.NewReader(bytes.NewReader(file))
	r.FieldsPerRecord = -1
	want, err := r.ReadAll()
	if err != nil {
		return // encoding/csv does not define how broken files are split; that no byte is lost was checked above
	}
	if len(want) != len(got) {
		t.Fatalf("got %d records, encoding/csv %d", len(got), len(want))
	}
	for i, record := range got {
		r := csv.NewReader(strings.NewReader(string(record.Value) + "\r\n"))
		fields, err := r.Read()
		if err != nil || !slices.Equal(fields, want[i]) {
			t.Fatalf("record %d: got %q (%v), encoding/csv %q", i, fields, err, want[i])
		}
		if _, err := r.Read(); !errors.Is(err, io.EOF) {
			t.Fatalf("record %d has a second record in it", i)
		}
	}
}

func FuzzSplitter(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "a,b\nc,d\n", "\"a\nb\",c\r\nd", "a\"b\n\"c", "\"\"\"\n\"\"\n\",\n", "x\r", "\r\n\r",
		"\"a\r\n\"\r\nb",
		"a,\"b\"c\n", ",\n,\"\n\",\n", "\"a\"\r\r\n", "\r\r\n\"", "0\n\r\r\n", "\"\r\"\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if sniff(file) != "" || newLineReader(bytes.NewReader(file), event.Format{Format: event.CSV}, 1).prepare() !=
			nil || bytes.HasPrefix(file, []byte("\uFEFF")) {
			t.Skip()
		}
		agree(t, file)
	})
}

// Lines are the same wherever a buffer ends.
func TestLineReaderBoundaries(t *testing.T) {
	for n := 1<<16 - 3; n < 1<<16+4; n++ {
		for _, end := range []string{"\n", "\r\n", "\r\r\n", ""} {
			text := strings.Repeat("x", n)
			got := values(records(t, strings.NewReader(text+end+"b\n"), event.JSONL, 1<<20))
			want := []string{text + strings.TrimSuffix(strings.TrimSuffix(end, "\n"), "\r"), "b"}
			if end == "" {
				want = []string{text + "b"}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("length %d, terminator %q: records differ", n, end)
			}
		}
	}
}
