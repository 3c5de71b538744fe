package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/workload"
)

// Test files of this module must not import realkafka: .ci/run would run them in the main module.

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childMode {
		main() // in a process that a test has started
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
	if err := run(context.Background(), append(args, "-json"), nil, &out); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// numbers fails the test unless these columns of a row are above 0.
func numbers(t *testing.T, row map[string]any, columns ...string) {
	t.Helper()
	for _, name := range columns {
		if n, ok := row[name].(float64); !ok || n <= 0 {
			t.Errorf("%v: %s is %v", row, name, row[name])
		}
	}
}

// Every user has one event, so nothing is clipped and no budget is exhausted: the processes compare
// private counts with the truth from both sides.
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

func TestWrongCountsAreFound(t *testing.T) {
	l := workload.Load{Events: 8, Users: 8, Keys: 2, Windows: 2} // 2 events in every window and key
	exact := func(deviation float64) []count {
		return []count{{0, "key0", 2, deviation}, {0, "key1", 2, deviation}, {1, "key0", 2, deviation},
			{1, "key1", 2, deviation}}
	}
	plain, private, one := contestant{plain: true}, contestant{}, contestant{oneWindow: true}
	for name, c := range map[string]struct {
		contestant contestant
		task       task
		change     func(c []count) []count
		wrong      string // part of the error; empty: right
	}{
		"plain":           {plain, task{Load: l}, nil, ""},
		"plain, off by 1": {plain, task{Load: l}, func(c []count) []count { c[0].value++; return c }, "want 2"},
		"plain, one less": {plain, task{Load: l}, func(c []count) []count { return c[1:] }, "no count"},
		"twice":           {plain, task{Load: l}, func(c []count) []count { return append(c, c[0]) }, "two counts"},
		"other key":       {plain, task{Load: l}, func(c []count) []count { c[0].key = "key2"; return c }, "not a key"},
		"other window":    {plain, task{Load: l}, func(c []count) []count { c[0].window = 2; return c }, "window 2"},
		"private": {private, task{Load: l}, func(c []count) []count {
			c[0].value += 7.9
			c[1].value -= 7.9
			return c
		}, ""},
		"private, above": {private, task{Load: l}, func(c []count) []count {
			c[0].value += 8.1
			return c
		}, "want 2"},
		"private, below": {private, task{Load: l}, func(c []count) []count {
			c[0].value -= 8.1
			return c
		}, "want 2"},
		"private, no noise": {private, task{Load: l}, func(c []count) []count {
			c[0].deviation = 0
			return c
		}, "without noise"},
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
