package eventfile

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// A file of another format is told by its first records; a file of broken records is not.
func TestAFileOfAnotherFormatIsTold(t *testing.T) {
	const (
		csv    = "who,page,at\nu1,/a,2025-03-03T00:00:00Z\n"
		jsonl  = `{"who":"u1","page":"/a","at":1}` + "\n" + `{"who":"u2","page":"/a","at":2}` + "\n"
		cut    = `{"who":"u1","page":"/a"}` + "\n" + `{"who":"u2","pa`
		broken = "oops\nnothing here\n"
	)
	tsv := strings.ReplaceAll(csv, ",", "\t")
	const webLines = "10.1.2.3 - - [03/Nov/2025:01:00:22 +0100] \"GET /cart HTTP/1.1\" 200 4179 \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n" +
		"10.1.2.4 - - [03/Nov/2025:01:00:31 +0100] \"GET / HTTP/1.1\" 200 - \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n"
	semicolons := strings.ReplaceAll(csv, ",", ";")
	for _, tc := range []struct {
		name  string
		given string
		text  string
		want  string // of the error; "" for none
	}{
		{"csv as jsonl", event.JSONL, csv, "it is not jsonl but csv"},
		{"tsv as jsonl", event.JSONL, tsv, "it is not jsonl but tsv"},
		{"jsonl as csv", event.CSV, jsonl, "it is not csv but jsonl"},
		{"cut jsonl as tsv", event.TSV, cut, "it is not tsv but jsonl"},
		{"jsonl with a mark as csv", event.CSV, "\uFEFF" + jsonl, "it is not csv but jsonl"},
		{"tsv as csv", event.CSV, tsv, "it is not csv but tsv"},
		{"csv as tsv", event.TSV, csv, "it is not tsv but csv"},
		{"avro as csv", event.CSV, "Obj\x01\x04\x16avro.schema", "it is not csv but avro"},
		{"avro as jsonl", event.JSONL, "Obj\x01\x04\x16avro.schema", "it is not jsonl but avro"},
		{"csv as avro", event.Avro, csv, "it is not avro but csv"},
		{"jsonl as avro", event.Avro, jsonl, "it is not avro but jsonl"},
		{"semicolons", event.CSV, semicolons, "separated by semicolons"},
		{"semicolons and decimal commas", event.CSV, "who;page;paid\nu1;home;1,50\nu2;home;20\nu3;a;7,25\n", "separated by semicolons"},
		{"the same without a header", event.CSV, "u1;home;1,50\nu2;home;20\nu3;a;7,25\n", "separated by semicolons"},
		{"Excel's separator", event.CSV, "sep=;\r\n" + semicolons, "tail -n +2"},
		{"pipes", event.TSV, strings.ReplaceAll(csv, ",", "|"), "separated by pipes"},
		{"spaces", event.CSV, "who  page\nu1 home\nu2   cart\n", "separated by spaces"},
		{"commas in texts and spaces", event.CSV, "who,page\nu1,\"a, b\"\nu2,c d\n", ""},
		{"semicolons in texts", event.CSV, "who,page,when\nu1,a;b,\"1,5\"\nu2,c;d,2\n", ""},
		{"a web server's log", event.CSV, webLines, "--separator ' '"},
		{"a web server's log as jsonl", event.JSONL, webLines, "--separator ' '"},
		{"CR alone", event.CSV, "who,page\ru1,home\ru2,cart\r", "lines that end in CR alone"},
		{"tar", event.CSV, "t.csv" + strings.Repeat("\x00", 252) + "ustar", ".tar archive"},
		{"semicolons as jsonl", event.JSONL, semicolons, "separated by semicolons"},
		{"array as csv", event.CSV, `[{"who":"u1"},{"who":"u2"}]`, "it is not csv but jsonl"},
		{"object over lines as tsv", event.TSV, "{\n  \"who\": \"u1\"\n}\n", "it is not tsv but jsonl"},
		{"lines of arrays", event.JSONL, "[\"u1\", 1]\n[\"u2\", 2]\n", "jq -r @csv"},
		{"array of arrays", event.JSONL, "[ [\"u1\", 1],\n[\"u2\", 2]\n", "jq -r '.[] | @csv'"},
		{"objects in strings", event.JSONL, `"{\"who\": \"u1\", \"a\": 1}"`, "jq -c fromjson"},
		{"objects in strings as csv", event.CSV, `"{\"who\": \"u1\", \"a\": 1}"`, "jq -c fromjson"},
		{"record separators as csv", event.CSV, "\x1e{\"who\":\"u1\"}\n", "it is not csv but jsonl"},
		{"parquet", event.CSV, "PAR1\x15\x04", "Parquet"},
		{"cut gzip as jsonl", event.JSONL, "\x1f\x8b\x08\x00", "gzip data end early after 0 unpacked bytes"},
		{"cut gzip as avro", event.Avro, "\x1f\x8b\x08\x00", "gzip data end early after 0 unpacked bytes"},
		{"array", event.JSONL, `[{"who":"u1"},{"who":"u2"}]`, ""},
		{"array over lines", event.JSONL, " [\n  {\n", ""},
		{"object over lines", event.JSONL, "{\n  \"who\": \"u1\"\n}\n", ""},
		{"csv with brackets", event.CSV, "[10/Oct/2000:13:55:36 -0700],u1\n[10/Oct/2000:13:55:37 -0700],u2\n", ""},

		{"csv", event.CSV, csv, ""},
		{"tsv", event.TSV, tsv, ""},
		{"jsonl", event.JSONL, jsonl, ""},
		{"empty", event.JSONL, "", ""},
		{"blank", event.CSV, "\n\n", ""},
		{"a schema as avro", event.Avro, "{\"type\":\"record\",\n\"name\":\"A\",\n\"fields\":[]}\n", "it does not begin as one"},
		{"broken jsonl", event.JSONL, broken, ""},
		{"one broken line", event.JSONL, "user, page\n", ""},
		{"jsonl with one good line", event.JSONL, csv + jsonl, ""},
		{"csv with one JSON line", event.CSV, csv + jsonl, ""},
		{"csv of one column", event.CSV, "who\nu1\nu2\n", ""},
		{"csv with tabs in its texts", event.CSV, "who,page\nu1,a\tb\n", ""},
		{"csv with semicolons in its texts", event.CSV, "who,page\nu1,a;b\n", ""},
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

// Columns are listed where the first line certainly names them, and not where it may have data.
func TestMissingColumnsAreNamedWithoutData(t *testing.T) {
	for _, row := range [][]string{
		{"alice", "north"}, {"alice", "2025-03-01"}, {"alice", "1740974706"}, {"alice", "-5"}, {"alice", ""},
		{"alice", "who", "2025-03-01"}, {"alice", "who", "17"}, {"alice", "who", "[03/Mar/2025:00:00:00 +0100]"},
		{"alice", "who", "Mon Mar  3 04:05:06 2025"}, {"alice", "who", "Mar 3, 2025"},
	} {
		err := CheckHeader(row, "%b %d, %Y", "who", "when")
		if !errors.Is(err, ErrColumns) || strings.Contains(err.Error(), "alice") || !strings.Contains(err.Error(), "may be data") {
			t.Errorf("%q: got %v", row, err)
		}
	}
	err := CheckHeader([]string{"", "who", "When"}, "", "who", "when")
	if !errors.Is(err, ErrColumns) || !strings.Contains(err.Error(), `did you mean "When"? The columns are , who, When`) {
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

// The core of a file is without the few records that stretch it, wherever they stand.
func TestTheCoreLeavesOutWhatStretchesAFile(t *testing.T) {
	const hour, march = int64(3_600_000), int64(1_740_960_000_000)
	for name, far := range map[string][]int64{
		"one of 1970": {0}, "three of 1970": {0, 5, 3 * hour}, "one of 9999": {253_402_300_799_999}, "one at each end": {0, 253_402_300_799_999}, "none": {},
	} {
		for _, n := range []int{3, 100, 50_000} {
			r := rand.New(runseed.PCG(t, 1, uint64(n)))
			times := append([]int64{}, far...)
			for range n {
				times = append(times, march+r.Int64N(48*hour))
			}
			times = append(times, march, march+48*hour)
			r.Shuffle(len(times), func(i, j int) { times[i], times[j] = times[j], times[i] })
			d := &Dataset{First: times[0], Last: times[0]}
			for _, at := range times {
				d.First, d.Last = min(d.First, at), max(d.Last, at)
				d.times.add(at)
			}
			first, last := d.Core(20_000 * hour)
			if first < march || first > march+48*hour || last < march || last > march+48*hour || last-first < 12*hour {
				t.Errorf("%s, %d records: from %d to %d after March", name, n, (first-march)/hour, (last-march)/hour)
			}
		}
	}
	even := &Dataset{First: 0, Last: 100_000 * hour}
	for i := range int64(100_001) {
		even.times.add(i * hour)
	}
	if first, last := even.Core(20_000 * hour); first != 0 || last != 100_000*hour || len(even.times.times) > sampled {
		t.Errorf("events all over a long time: from %d to %d, %d sampled", first, last, len(even.times.times))
	}
}
