package eventfile

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// faultsOf decodes a file and collects its faults.
func faultsOf(t *testing.T, format event.Format, text string) *Faults {
	t.Helper()
	faults := NewFaults(format)
	err := Scan(file(t, text), OptionsOf(format, format.Columns == nil && format.Format == event.CSV),
		func(h Head) (func(Record) error, error) {
			faults.Begin(h)
			d, err := event.NewDecoder(h.Complete(format))
			return func(r Record) error {
				var e event.Event
				err := d.Decode(r.Value, &e)
				if err == nil {
					faults.Event(&e, r)
				} else if faults.Add(err, r) {
					err = nil
				}
				return err
			}, err
		})
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

func TestRecordsThatAreNotUTF8AreCounted(t *testing.T) {
	rows := event.Format{Format: event.CSV, User: "who", Key: "page", Time: "at", TimeUnit: "s"}
	objects := event.Format{Format: event.JSONL, User: "who", Key: "page", Time: "at", TimeUnit: "s"}
	for _, c := range []struct {
		format event.Format
		text   string
	}{
		{rows, "who,page,at\nu1,caf\xe9,1\nu\xe9,home,1\nu1,caf\xe9,1\n"},
		{objects,
			"{\"who\":\"u1\",\"page\":\"caf\xe9\",\"at\":1}\n" +
				"{\"who\":\"u1\",\"page\":\"a\",\"at\":1}\n{\"note\":\"\xe9\"}\n{}\n"},
	} {
		if n, _ := faultsOf(t, c.format, c.text).NotUTF8(); n != 2 {
			t.Errorf("%s: %d records are not UTF-8, want 2", c.format.Format, n)
		}
	}
}

func TestBrokenRecordsAreNamedByTheirLines(t *testing.T) {
	f := event.Format{Format: event.CSV, User: "who", Time: "at", TimeUnit: event.TimeText, MaxRecordBytes: 60}
	faults := faultsOf(t, f, "who,at\nann,2025-03-03\nBob-7,soon\n,2025-03-03\neve,later\nzoé,12/31/2024\nmallory,x\n"+
		strings.Repeat("y", 70)+"\n")
	want := []string{
		"4 bad_timestamp time: lines 3, 5, 6 and more; line 3 is like xxx-9,xxxx",
		"1 empty_user user: line 4; line 4 is like ,9999-99-99",
		"1 oversized: line 8; line 8 is like " + strings.Repeat("x", 61),
	}
	if got := faults.Texts(); !slices.Equal(got, want) || faults.Total() != 6 ||
		faults.ByClass()[event.ClassBadTimestamp] != 4 {
		t.Errorf("got %q", got)
	}
	f = event.Format{Format: event.JSONL, User: "usr", Time: "at", TimeUnit: event.TimeText}
	faults = faultsOf(t, f, `[{"user":"ann","at":1,"page":2},{"at":"2025-03-03","user":"bob"}]`)
	want = []string{`2 missing_field user: records 1 and 2; record 1 is like {"xxxx":"xxx","xx":9,"xxxx":9}; there ` +
		`is no field usr, did you mean user?; the fields are at, user`}
	if got := faults.Texts(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	f.User = "user"
	for text, want := range map[string]string{
		`{"user":{"id":"ann"},"at":1}`:                                "user is an object: name a field in it",
		`{"user":{"id":1},"at":1}` + "\n" + `{"user":{"id":2,"x":3}}`: "name a field in it, such as user.id",
		`{"user":[1],"at":1}`:                                         `{"xxxx":[9],"xx":9}`,
	} {
		if got := faultsOf(t, f, text).Texts(); len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// A masked record has the punctuation of the original, but none of its letters and digits.
func TestRuleAMaskedRecordShowsNoValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte {
			return []byte(s)
		})).Draw(t, "record")
		for _, r := range masked(record) {
			if r != 'x' && r != '9' && r != '…' && (unicode.IsLetter(r) || unicode.IsDigit(r) || r < ' ' || r > '~') {
				t.Fatalf("%q is in %q", r, masked(record))
			}
		}
	})
}

// A name that only some records have may be data, so it is not shown.
func TestRuleNamesThatOnlySomeRecordsHaveAreNotShown(t *testing.T) {
	f := event.Format{Format: event.JSONL, User: "usr", Time: "at", TimeUnit: event.TimeText}
	one, other := `{"user":1,"at":2,"seen":{"alice@example.com":{"n":1}}}`, `{"user":1,"at":2,"seen":{"bob":{"n":1}},`+
		`"carol":4}`
	for text, want := range map[string]string{
		one:                      "there is no field usr, did you mean user?",
		one + "\n" + other:       "there is no field usr, did you mean user?; the fields are at, user",
		other + "\n{\"dave\":1}": "",
		one + "\n" + `{"user":1,"at":2,"seen":null}`: "there is no field usr, did you mean user?; the fields are at, " +
			"user",
		// A change-data topic with a delete.
		strings.Repeat(`{"after":{"user":1},"at":2}`+"\n", 2) + `{"after":null,"at":2}`: "there is no field usr; the " +
			"fields are after.user, at",
	} {
		got := strings.Join(faultsOf(t, f, text).Texts(), "\n")
		if want != "" && !strings.HasSuffix(got, "; "+want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		for _, name := range []string{"alice", "bob", "carol", "dave", "seen"} {
			if strings.Contains(got, name) {
				t.Errorf("%s: %s is in %s", text, name, got)
			}
		}
	}
}

// Unreadable values are too many if the other values are not representative.
func TestRuleTooManyUnreadableValuesAreTwoPercentOfAllOrOfTheGreatest(t *testing.T) {
	for _, c := range []struct {
		name         string
		small, large int // records with 12 and with 1000
		bad          map[string]int
		tooMany      bool
	}{
		{"none", 1000, 0, nil, false},
		{"2% with no digits", 980, 0, map[string]int{"N/A": 20}, false},
		{"more than 2% with no digits", 979, 0, map[string]int{"N/A": 21}, true},
		{"2 of the greatest 100", 900, 98, map[string]int{"EUR 1000": 2}, false},
		{"3 of the greatest 100", 900, 97, map[string]int{"EUR 1000": 3}, true},
		{"8 of usual size", 992, 0, map[string]int{"EUR 12": 8}, false},
		{"thousands or decimals", 900, 0, map[string]int{"1.234": 90, "12.500": 10}, true},
		{"some have other decimals", 900, 0, map[string]int{"1.234": 99, "0.500": 1}, true},
		{"half is no value", 500, 0, map[string]int{"": 500}, false},
		{"decimal commas", 0, 0, map[string]int{"9,56": 1000}, true},
	} {
		f := event.Format{Format: event.TSV, Columns: []string{"u", "t", "v"}, User: "u", Time: "t", TimeUnit: "ms",
			Value: "v"}
		faults := NewFaults(f)
		faults.Begin(Head{Columns: f.Columns})
		d, err := event.NewDecoder(f)
		if err != nil {
			t.Fatal(err)
		}
		add := func(n int, text string) {
			for range n {
				r := Record{Value: []byte("u\t1\t" + text)}
				var e event.Event
				if err := d.Decode(r.Value, &e); err == nil {
					faults.Event(&e, r)
				} else {
					faults.Add(err, r)
				}
			}
		}
		add(c.small, "12")
		add(c.large, "1000")
		for text, n := range c.bad {
			add(n, text)
		}
		if n, _, tooMany := faults.BadValues(); tooMany != c.tooMany || int(n+faults.WithoutValue()) != 1000-c.small-
			c.large {
			t.Errorf("%s: %d, %v", c.name, n, tooMany)
		}
		if faults.DecimalCommas() != (c.name == "decimal commas") {
			t.Errorf("%s: decimal commas are %v", c.name, faults.DecimalCommas())
		}
	}
}

func TestUndecodableRecordsAreCounted(t *testing.T) {
	rows := event.Format{Format: event.CSV, User: "who", Key: "page", Time: "at", TimeUnit: "s"}
	objects := event.Format{Format: event.JSONL, User: "who", Time: "at", TimeUnit: "s"}
	const header, good = "who,page,at\n", "u1,a,1\n"
	for _, c := range []struct {
		format event.Format
		text   string
		n      uint64
	}{
		{rows, header + good + "u1,a,1,\nu1,a,1,\n", 2},
		{rows, header + good + "u1,a\n", 1},
		{rows, header + good + "u1,a,x\n", 0},
		{objects, `{"id":1,"pages":["a"]}`, 0},
		{objects, `{"who":"u1","at":1}` + "\n{x\n", 1},
	} {
		if n, _ := faultsOf(t, c.format, c.text).Undecodable(); n != c.n {
			t.Errorf("%s: %d, want %d", c.text, n, c.n)
		}
	}
}

func TestUsersLikeNullAreCounted(t *testing.T) {
	f := event.Format{Format: event.CSV, User: "who", Time: "at", TimeUnit: "s"}
	text := "who,at\nNULL,1\n\\N,1\n(null),1\nundefined,1\nNaN,1\nnone,1\n0,1\nAnnan,1\n"
	if n := faultsOf(t, f, text).Blank(); n != 6 {
		t.Errorf("%d users like NULL, want 6", n)
	}
}
