package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// hostile are records of one user, with what may become of them: none touches a
// window and key that others have. Times at the borders of int64 are no event times:
// package schemas refuses them, and they are here for that.
func hostile() []struct{ line, outcome string } {
	return []struct{ line, outcome string }{
		{"evil,a,1970-01-01T00:00:00Z", "before start"},
		{"evil,a,1969-12-31T23:59:59.999Z", "before start"},
		{"evil,a,1970-01-01T00:00:00.001Z", "before start"},
		{"evil,a,0001-01-01T00:00:00Z", "before start"},
		{"evil,a,0000-12-31T23:59:59.999Z", event.ClassBadTimestamp},
		{"evil,a,9999-12-31T23:59:59.999Z", "open"},
		{"evil,a,10000-01-01T00:00:00Z", event.ClassBadTimestamp},
		{"evil,a,-9223372036854775808", event.ClassBadTimestamp},
		{"evil,a,9223372036854775807", event.ClassBadTimestamp},
		{"evil,a,0", event.ClassBadTimestamp},
		{"evil,a,", event.ClassBadTimestamp},
		{"evil,a", event.ClassMissingField},
		{"evil", event.ClassMissingField},
		{"evil,\"a", event.ClassUndecodable},
		{",a,2025-03-03T01:00:00Z", event.ClassEmptyUser},
		{strings.Repeat("e", 1025) + ",a,2025-03-03T01:00:00Z", event.ClassUserTooLong},
		{"evil," + strings.Repeat("k", 513) + ",2025-03-03T01:00:00Z", event.ClassKeyTooLong},
		{"evil,\xff,2025-03-03T01:00:00Z", event.ClassBadKey},
		{"evil,a," + strings.Repeat("x", MaxRecordBytes), event.ClassOversized},
		{"evil,of one user,2025-03-03T01:00:00Z", "accepted"},
	}
}

// talliesOf returns the tallies of records by what became of them.
func talliesOf(t pipeline.Tallies) map[string]uint64 {
	m := map[string]uint64{
		"before start": t.BeforeStart, "late": t.Late, "future": t.Future, "overtaken": t.Overtaken,
		"accepted": t.Accepted - t.Metrics[0].Open, "open": t.Metrics[0].Open,
	}
	maps.Copy(m, t.DeadLettered)
	maps.DeleteFunc(m, func(_ string, n uint64) bool { return n == 0 })
	return m
}

// testSecrets are the same for every file, so that values can be compared.
func testSecrets() Secrets {
	return Secrets{Incarnation: [16]byte{1}, Noise: noisereduction.NoiseKey{ID: "k", Secret: secret.New([32]byte{2})},
		UserHash: secret.New([32]byte{3})}
}

// A record of one user, whatever its content and position, changes no other user's outcome,
// admission or count: every published value is the same, and the tallies differ by that record's
// outcome only.
func TestRuleOneHostileRecordChangesNoOtherUser(t *testing.T) {
	lines := visits(400)
	file := func(lines []string) FileOptions {
		opt := options(write(t, "user,page,when\n"+strings.Join(lines, "\n")+"\n"))
		opt.From, opt.To = march, march.Add(4*time.Hour)
		return opt
	}
	all := hostile()
	spent := settings("a", "b", "c,\"c") // in the first window of a user, so that others are refused
	spent.Target.Absolute = 0.36
	for name, s := range map[string]Settings{"public keys": settings("a", "b", "c,\"c"), "private keys": settings(),
		"budgets that are spent": spent} {
		s.Epsilon, s.Delta = 60, 1e-3 // so that keys pass their thresholds
		s.Target.Absolute = min(s.Target.Absolute, 4)
		t.Run(name, func(t *testing.T) {
			before, want := runAll(t, s, open(t, file(lines)), testSecrets())
			if strings.Count(want, "\n") < 8 || before.Tallies.Metrics[0].Counted < 200 ||
				before.Tallies.Metrics[0].Beyond > 30 != (s.Target.Absolute < 1) {
				t.Fatalf("too little is counted: %+v\n%s", before.Tallies, want)
			}
			check := func(what string, with []string, added ...string) {
				t.Helper()
				after, got := runAll(t, s, open(t, file(with)), testSecrets())
				if got != want {
					t.Errorf("%s: other values are published:\n%s", what, cmp.Diff(want, got))
				}
				expected := talliesOf(before.Tallies)
				for _, outcome := range added {
					expected[outcome]++
				}
				if diff := cmp.Diff(expected, talliesOf(after.Tallies)); diff != "" {
					t.Errorf("%s: other tallies (-want +got):\n%s", what, diff)
				}
			}
			for third, place := range []int{0, len(lines) / 2, len(lines)} {
				var evil, added []string
				for i, h := range all {
					evil, added = append(evil, h.line), append(added, h.outcome)
					if long.On() && i%3 == third {
						check(fmt.Sprintf("record %d at line %d", i, place), slices.Insert(slices.Clone(lines), place,
							h.line), h.outcome)
					}
				}
				check(fmt.Sprintf("all at line %d", place), slices.Insert(slices.Clone(lines), place, evil...),
					added...)
			}
		})
	}
}

// The same if the range of windows comes from the data: one record may add windows
// (guarantee.md, section 8). The values and the outcomes of all others stay as they are, and the
// added windows publish values of public keys only.
func TestRuleOneRecordOf1970MayAddWindowsAndNothingElse(t *testing.T) {
	const year = 365 * 24 * time.Hour
	keys := []string{"a", "b"}
	lines := visits(400)
	for name, s := range map[string]Settings{"public keys": settings(keys...), "private keys": settings()} {
		s.Window, s.Epsilon, s.Delta = year, 60, 1e-3 // so that keys pass their thresholds
		s.Target.Absolute, s.Lasts = 4, year
		t.Run(name, func(t *testing.T) {
			run := func(more ...string) (Result, string) {
				opt := options(write(t, "user,page,when\n"+strings.Join(append(more, lines...), "\n")))
				opt.Window = s.Window
				return runAll(t, s, open(t, opt), testSecrets())
			}
			before, want := run()
			if strings.Count(want, "\n") < len(keys) || before.Turns != 1 {
				t.Fatalf("%d turns, with the values\n%s", before.Turns, want)
			}
			first := march.UnixMilli() / year.Milliseconds() // the year of the others' events
			for day, outcome := range map[string]string{"1970-01-01T00:00:00Z": "accepted",
				"1969-12-31T23:59:59.999Z": "before start", "0001-01-01T00:00:00Z": "before start"} {
				after, got := run("evil,of one user," + day)
				added, same := strings.CutSuffix(got, want)
				if !same || after.Turns != uint64(first)+1 {
					t.Errorf("%s: %d turns, the last values are\n%s\nwant\n%s", day, after.Turns,
						got[max(0, len(got)-len(want)):], want)
				}
				var expected []string
				if !s.Private() {
					for n := range first {
						for _, key := range keys {
							expected = append(expected, fmt.Sprint(key, " ", n*year.Milliseconds()))
						}
					}
				}
				if diff := cmp.Diff(expected, windowsOf(t, added)); diff != "" {
					t.Errorf("%s: other windows and keys were added (-want +got):\n%s", day, diff)
				}
				tallies := talliesOf(before.Tallies)
				tallies[outcome]++
				if diff := cmp.Diff(tallies, talliesOf(after.Tallies)); diff != "" {
					t.Errorf("%s: other tallies (-want +got):\n%s", day, diff)
				}
				if counted := after.Tallies.Metrics[0].Counted; !s.Private() &&
					counted != before.Tallies.Metrics[0].Counted {
					t.Errorf("%s: %d records are counted, and %d without it", day, counted,
						before.Tallies.Metrics[0].Counted)
				}
			}
		})
	}
}

// windowsOf returns the key and the start of the window of every value in JSON lines.
func windowsOf(t *testing.T, values string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(values) {
		var v struct {
			Key   string    `json:"key"`
			Start time.Time `json:"window_start"`
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(v.Key, " ", v.Start.UnixMilli()))
	}
	return all
}
