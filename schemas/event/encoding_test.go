package event

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryFormatHasAnEntryOfItsOwn(t *testing.T) {
	var endings []string
	for _, e := range Encodings() {
		if EncodingOf(e.Name).Record != e.Record || !e.Known() || e.Record == "" || e.Begins == "" ||
			len(e.Endings) == 0 {
			t.Errorf("%+v: something is missing, or another entry has the name", e)
		}
		for _, ending := range e.Endings {
			if found := EncodingOfFile("visits" + strings.ToUpper(ending)); found.Name != e.Name ||
				slices.Contains(endings, ending) {
				t.Errorf("%s: a file of ending %s is of format %q", e.Name, ending, found.Name)
			}
		}
		endings = append(endings, e.Endings...)
		if e.Tabular() && (e.Schemas() || e.Members != nil) || e.Contained() && e.Lines([]byte(`{"a":1}`)) {
			t.Errorf("%s: its properties exclude each other", e.Name)
		}
	}
	for _, name := range []string{"", "CSV", "json", "xml"} {
		if e := EncodingOf(name); e.Known() {
			t.Errorf("%q is a format: %+v", name, e)
		}
		err := Format{Format: name, User: "u", Time: "t", TimeUnit: "s"}.Check()
		if err == nil || !strings.Contains(err.Error(), "csv, tsv, jsonl or avro") {
			t.Errorf("%q: error is %v", name, err)
		}
	}
	if e := EncodingOfFile("visits.parquet"); e.Known() {
		t.Errorf("a file of ending .parquet is of format %q", e.Name)
	}
}

func TestNamesOfMembersArePaths(t *testing.T) {
	const record = `{"a.b":1,"c\\d":{"e":2},"f[":[{"g":1},2]}`
	names := EncodingOf(JSONL).Members([]byte(record))
	slices.Sort(names)
	if want := []string{`a\.b`, `c\\d.e`, `f\[[0].g`}; !slices.Equal(names, want) {
		t.Fatalf("got %q, want %q", names, want)
	}
	f := Format{Format: JSONL, User: names[0], Time: names[0], TimeUnit: "s"}
	if err := newDecoder(t, f).Decode([]byte(record), &Event{}); err != nil {
		t.Error(err)
	}
	if names := EncodingOf(JSONL).Members([]byte(`[1]`)); names != nil {
		t.Errorf("a list has members %q", names)
	}
}
