package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/workload"
)

// A file of tests here never imports realkafka: .ci/run looks for those that do in the module of
// the product.

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && slices.Contains([]string{childMode, brokerMode, liveMode}, os.Args[1]) {
		main() // as one of the processes that the tests start
		return
	}
	os.Exit(m.Run())
}

// report is a table in JSON.
type report struct {
	Title string
	Rows  []map[string]any
}

func tableOf(t *testing.T, args ...string) report {
	t.Helper()
	t.Setenv("TOLLGATE_BROKER", "")
	var out bytes.Buffer
	if err := run(context.Background(), append(args, "-format", "json"), nil, &out); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// numbers demands that columns of a row are above 0.
func numbers(t *testing.T, row map[string]any, columns ...string) {
	t.Helper()
	for _, name := range columns {
		if n, ok := row[name].(float64); !ok || n <= 0 {
			t.Errorf("%v: %s is %v", row, name, row[name])
		}
	}
}

// Every user has one event: nothing is clipped and no budget is used up, so that private
// counts are compared with the truth from both sides. The processes check them.
func TestContestantsCountTheSame(t *testing.T) {
	r := tableOf(t, "-events", "3000", "-users", "3000", "-keys", "3", "-windows", "2", "-rounds", "2")
	var names []string
	for _, row := range r.Rows {
		names = append(names, row["contestant"].(string))
		numbers(t, row, "wall s", "CPU µs/event", "B allocated/event", "peak MB", "CPU / tollgate's")
	}
	if !slices.Equal(names, contestantNames()) {
		t.Errorf("rows %v, want %v", names, contestantNames())
	}
}

func TestSoakSaysWhenValuesCome(t *testing.T) {
	r := tableOf(t, "soak", "-broker", "apart", "-for", "8s", "-window", "1s", "-report", "4s", "-rate", "2000", "-users", "100", "-shards", "2")
	if len(r.Rows) != 2 {
		t.Fatalf("%d rows, want 2", len(r.Rows))
	}
	for _, row := range r.Rows {
		numbers(t, row, "events", "windows", "latency p50 s", "p99 s", "resident MB at most")
		if s := row["latency p50 s"].(float64); s < 1 {
			t.Errorf("values after %v s, and the lateness is 1 s", s)
		}
	}
}

func TestWrongCountsAreFound(t *testing.T) {
	l := workload.Load{Events: 8, Users: 8, Keys: 2, Windows: 2} // 2 events in every window and key
	exact := func(deviation float64) []count {
		return []count{{0, "key0", 2, deviation}, {0, "key1", 2, deviation}, {1, "key0", 2, deviation}, {1, "key1", 2, deviation}}
	}
	plain, private, one := contestant{plain: true}, contestant{}, contestant{one: true}
	for name, c := range map[string]struct {
		contestant contestant
		task       task
		change     func(c []count) []count
		wrong      string // part of the error; empty: right
	}{
		"plain":             {plain, task{Load: l}, nil, ""},
		"plain, off by 1":   {plain, task{Load: l}, func(c []count) []count { c[0].value++; return c }, "want 2"},
		"plain, one less":   {plain, task{Load: l}, func(c []count) []count { return c[1:] }, "no count"},
		"twice":             {plain, task{Load: l}, func(c []count) []count { return append(c, c[0]) }, "came twice"},
		"other key":         {plain, task{Load: l}, func(c []count) []count { c[0].key = "key2"; return c }, "no key"},
		"other window":      {plain, task{Load: l}, func(c []count) []count { c[0].window = 2; return c }, "window 2"},
		"private":           {private, task{Load: l}, func(c []count) []count { c[0].value += 7.9; c[1].value -= 7.9; return c }, ""},
		"private, above":    {private, task{Load: l}, func(c []count) []count { c[0].value += 8.1; return c }, "want 2"},
		"private, below":    {private, task{Load: l}, func(c []count) []count { c[0].value -= 8.1; return c }, "want 2"},
		"private, no noise": {private, task{Load: l}, func(c []count) []count { c[0].deviation = 0; return c }, "without noise"},
		"private, one less": {private, task{Load: l}, func(c []count) []count { return c[1:] }, "no count"},
		"private keys":      {private, task{Load: l, Private: true}, func(c []count) []count { return c[1:] }, ""},
		"clipped": {private, task{Load: workload.Load{Events: 8, Users: 4, Keys: 2, Windows: 2}},
			func(c []count) []count { c[0].value -= 8.1; return c }, ""},
		"one window": {one, task{Load: l}, func(c []count) []count { c[0].value, c[1].value = 4, 4; return c[:2] }, ""},
	} {
		deviation := 1.0
		if c.contestant.plain {
			deviation = 0
		}
		counts := exact(deviation)
		if c.change != nil {
			counts = c.change(counts)
		}
		err := c.contestant.verify(c.task, counts)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.wrong)
		}
	}
}

func TestMistakesInArgumentsAreNamed(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"grow"}, `no mode "grow"`},
		{[]string{"-only", "spark"}, `no "spark"`},
		{[]string{"-events", "0"}, "at least 1"},
		{[]string{"-broker", "redpanda"}, "redpanda"},
		{[]string{"soak", "-broker", "embedded"}, "embedded"},
		{[]string{"soak", "-for", "1s"}, "at least a -window"},
		{[]string{"-format", "xml"}, "xml"},
		{[]string{"-what"}, "not defined: -what"},
	} {
		err := run(context.Background(), c.args, nil, &bytes.Buffer{})
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want a usageError that says %q", c.args, err, c.says)
		}
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	for mode, flags := range map[string][]string{"": {"-rounds", "-only", "pob-direct"}, "soak": {"-for", "-rate"}} {
		var out bytes.Buffer
		err := run(context.Background(), strings.Fields(mode+" --help"), nil, &out)
		if !errors.Is(err, flag.ErrHelp) {
			t.Fatal(err)
		}
		for _, name := range append(flags, "-broker", "-format", "Usage: go run .") {
			if !strings.Contains(out.String(), name) {
				t.Errorf("help of mode %q does not say %q", mode, name)
			}
		}
	}
}

func TestTablesAreWrittenInThreeFormats(t *testing.T) {
	tb := table{title: "so", columns: []string{"a", "b", "c"}, rows: [][]any{{"x", 7, 1234.5678}, {"y", 8, 0.012345}}}
	for format, want := range map[string]string{
		"text":     "so\n\na  b  c\nx  7  1235\ny  8  0.0123\n",
		"markdown": "so\n\n| a | b | c |\n|---|---|---|\n| x | 7 | 1235 |\n| y | 8 | 0.0123 |\n",
		"json": "{\n  \"rows\": [\n    {\n      \"a\": \"x\",\n      \"b\": 7,\n      \"c\": 1234.5678\n    },\n    {\n      \"a\": \"y\",\n      \"b\": 8,\n      \"c\": 0.012345\n    }\n  ],\n" +
			"  \"title\": \"so\"\n}\n",
	} {
		var out bytes.Buffer
		if err := tb.write(&out, format); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, out.String(), want)
		}
	}
}
