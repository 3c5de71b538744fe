package eventfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// The first records reveal a file of another format; broken records do not count as another format.
func TestAFileOfAnotherFormatIsDetected(t *testing.T) {
	const (
		csv    = "who,page,at\nu1,/a,2025-03-03T00:00:00Z\n"
		jsonl  = `{"who":"u1","page":"/a","at":1}` + "\n" + `{"who":"u2","page":"/a","at":2}` + "\n"
		cut    = `{"who":"u1","page":"/a"}` + "\n" + `{"who":"u2","pa`
		broken = "oops\nnothing here\n"
	)
	tsv := strings.ReplaceAll(csv, ",", "\t")
	semicolons := strings.ReplaceAll(csv, ",", ";")
	for _, tc := range []struct {
		name  string
		given string
		text  string
		want  string // the error's text; "" for none
	}{
		{"csv as jsonl", event.JSONL, csv, "it is not jsonl but csv"},
		{"tsv as jsonl", event.JSONL, tsv, "it is not jsonl but tsv"},
		{"jsonl as csv", event.CSV, jsonl, "it is not csv but jsonl"},
		{"jsonl with a mark as csv", event.CSV, "\uFEFF" + jsonl, "it is not csv but jsonl"},
		{"tsv as csv", event.CSV, tsv, "it is not csv but tsv"},
		{"avro as csv", event.CSV, "Obj\x01\x04\x16avro.schema", "it is not csv but avro"},
		{"csv as avro", event.Avro, csv, "it is not avro but csv"},
		{"semicolons", event.CSV, semicolons, "separated by semicolons"},
		{"semicolons and decimal commas", event.CSV, "who;page;paid\nu1;home;1,50\nu2;home;20\nu3;a;7,25\n",
			"separated by semicolons"},
		{"semicolons in quotes", event.CSV, "\"who\";\"page\"\n\"u1\";\"a;b\"\n", "separated by semicolons"},
		{"a line with semicolons", event.CSV, "who;page", "separated by semicolons"},
		{"pipes", event.TSV, strings.ReplaceAll(csv, ",", "|"), "separated by pipes"},
		{"spaces", event.CSV, "who  page\nu1 home\nu2   cart\n", "separated by spaces"},
		{"commas in texts and spaces", event.CSV, "who,page\nu1,\"a, b\"\nu2,c d\n", ""},
		{"semicolons in texts", event.CSV, "who,page,when\nu1,a;b,\"1,5\"\nu2,c;d,2\n", ""},
		{"tar", event.CSV, "t.csv" + strings.Repeat("\x00", 252) + "ustar", ".tar archive"},
		{"array as csv", event.CSV, `[{"who":"u1"},{"who":"u2"}]`, "it is not csv but jsonl"},
		{"object over lines as tsv", event.TSV, "{\n  \"who\": \"u1\"\n}\n", "it is not tsv but jsonl"},
		{"record separators as csv", event.CSV, "\x1e{\"who\":\"u1\"}\n", "it is not csv but jsonl"},
		{"parquet", event.CSV, "PAR1\x15\x04", "Parquet"},
		{"cut gzip as avro", event.Avro, "\x1f\x8b\x08\x00", "gzip data end early after 0 unpacked bytes"},
		{"array", event.JSONL, `[{"who":"u1"},{"who":"u2"}]`, ""},
		{"csv with brackets", event.CSV, "[10/Oct/2000:13:55:36 -0700],u1\n[10/Oct/2000:13:55:37 -0700],u2\n", ""},

		{"empty", event.JSONL, "", ""},
		{"a schema as avro", event.Avro, "{\"type\":\"record\",\n\"name\":\"A\",\n\"fields\":[]}\n",
			"it does not begin with the mark of one"},
		{"broken jsonl", event.JSONL, broken, ""},
		{"one broken line", event.JSONL, "user, page\n", ""},
		{"jsonl with one good line", event.JSONL, csv + jsonl, ""},
		{"csv with one JSON line", event.CSV, csv + jsonl, ""},
		{"csv with tabs in its texts", event.CSV, "who,page\nu1,a\tb\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var err error
			if tc.given == event.Avro {
				_, err = NewContainer(strings.NewReader(tc.text), 0)
			} else {
				err = NewSplitter(strings.NewReader(tc.text), event.Format{Format: tc.given}, 0).Begin()
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			var other *FormatError
			if errors.As(err, &other) && other.Fits == other.Given {
				t.Errorf("%+v", other)
			}
			if err != nil && (strings.Contains(err.Error(), "u1") || strings.Contains(err.Error(), "/a")) {
				t.Errorf("data in %v", err)
			}
		})
	}
}

// Columns are listed only if the first line certainly names them and is not data.
func TestMissingColumnsAreNamedWithoutData(t *testing.T) {
	for _, row := range [][]string{
		{"alice", "north"}, {"alice", "2025-03-01"}, {"alice", "1740974706"}, {"alice", "-5"}, {"alice", ""},
		{"alice", "who", "2025-03-01"}, {"alice", "who", "17"}, {"alice", "who", "[03/Mar/2025:00:00:00 +0100]"},
		{"alice", "who", "Mon Mar  3 04:05:06 2025"}, {"alice", "who", "Mar 3, 2025"},
	} {
		err := CheckHeader(row, "%b %d, %Y", "who", "when")
		if !errors.Is(err, ErrColumns) || strings.Contains(err.Error(), "alice") || !strings.Contains(err.Error(),
			"may be data") {
			t.Errorf("%q: got %v", row, err)
		}
	}
	err := CheckHeader([]string{"", "who", "When"}, "", "who", "when")
	if !errors.Is(err, ErrColumns) || !strings.Contains(err.Error(), `did you mean "When"? The columns are , who, `+
		`When`) {
		t.Errorf("got %v", err)
	}
	err = CheckColumns([]string{"who", "When"}, "when") // of a flag
	if !errors.Is(err, ErrColumns) || !strings.Contains(err.Error(), `did you mean "When"? The columns are who, When`) {
		t.Errorf("got %v", err)
	}
	var wrong *ColumnError
	if !errors.As(err, &wrong) || wrong.Column != "when" {
		t.Errorf("got %+v", wrong)
	}
}
