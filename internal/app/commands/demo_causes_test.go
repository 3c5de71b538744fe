package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

var spring = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

// causeCase is a file that a demo makes little of, and what its holder is to read.
type causeCase struct {
	name   string
	header string             // of a CSV file; "": JSON lines
	record func(i int) string // record i of 2,000
	args   []string           // beside those that all cases share
	want   []string           // on stderr
	never  []string           // not on stderr
	lost   bool               // more than half
}

// minutes are the times of records, a minute apart.
func minutes(i int) time.Time { return spring.Add(time.Duration(i) * time.Minute) }

// ordinary is record i of as many users, a day for all, with a layout of its own.
func ordinary(layout func(time.Time) string) func(int) string {
	return func(i int) string { return fmt.Sprintf("%s,u%d,north", layout(minutes(i/2)), i) }
}

func rfc3339(t time.Time) string { return t.Format(time.RFC3339) }

func causeCases() []causeCase {
	const header = "when,who,where"
	threshold := "a private key is released from about"
	listed := []string{"--public-keys", "north,south", "--window", "24h"}
	return []causeCase{
		{
			name: "seconds read as milliseconds", header: header, record: ordinary(func(t time.Time) string { return fmt.Sprint(t.Unix()) }),
			args:  []string{"--time-unit", "ms"},
			want:  []string{"2,000 of 2,000 records (100 %) have no time of the years 1971 to 2039 by --time-field when --time-unit ms", "from 1970-01-21T", "--time-unit s gives 2,000 times from 2025-03-01T00:00:00Z to 2025-03-01T16:39:00Z"},
			never: []string{threshold},
		},
		{
			name: "the wrong field", header: "when,who,where,at", record: func(i int) string { return ordinary(rfc3339)(i) + fmt.Sprintf(",%d", minutes(i).Unix()) },
			args: []string{"--time-field", "where"}, lost: true,
			want: []string{"by --time-field where --time-unit text", "--time-field when --time-unit text gives 2,000 times", ", or --time-field at --time-unit s gives 2,000 times"},
		},
		{
			name: "no field of times", header: header, record: func(i int) string { return fmt.Sprintf("soon,u%d,north", i) }, lost: true,
			want:  []string{"2,000 of 2,000 records (100 %) are broken (2,000 bad_timestamp time)", "check --time-field when and --time-unit text", "the fields are when, who, where"},
			never: []string{"gives"},
		},
		{
			name: "the month first", header: header, record: ordinary(func(t time.Time) string { return t.AddDate(0, 0, 20).Format("01/02/2006") }), lost: true,
			want: []string{"times of another layout: give --time-layout '%m/%d/%Y'", "--time-layout %m/%d/%Y"},
		},
		{
			name: "no user", record: func(i int) string {
				return fmt.Sprintf(`{"person": "u%d", "where": "north", "when": %q}`, i, rfc3339(minutes(i)))
			}, lost: true,
			want: []string{"(2,000 missing_field user)", "check --user-field who, did you mean when? (the fields are person, when, where"},
		},
		{
			name: "after the end", header: header, record: ordinary(rfc3339), args: append([]string{"--from", "2025-02-01"}, "--to", "2025-02-02"),
			want:  []string{"2,000 of 2,000 records (100 %) are not before --to 2025-02-02T00:00:00Z", "--to 2025-03-02T00:00:00Z includes them"},
			never: []string{threshold},
		},
		{
			// 40 users with 50 pages each a day: 48 of 50 keep 95 %.
			name: "clipped by keys", header: header, record: func(i int) string { return fmt.Sprintf("%s,u%d,page-%d", rfc3339(minutes(i/2)), i%40, i/40) }, lost: true,
			want: []string{"1,960 of 2,000 accepted records (98 %) are of more keys than --max-keys-per-user 1 allows a user in a window"},
		},
		{
			// 10 pages of 2,000 visitors.
			name: "swapped fields", header: header, record: func(i int) string { return fmt.Sprintf("%s,page-%d,u%d", rfc3339(minutes(i/2)), i%10, i) }, lost: true,
			want: []string{"\nwhy: 10 users and 2,000 keys: check whether --user-field who and --key-field where are swapped. The data do not prove it"},
		},
		{
			// 40 users with 50 visits each.
			name: "clipped by events", header: header, record: func(i int) string { return fmt.Sprintf("%s,u%d,north", rfc3339(minutes(i/2)), i%40) },
			args: listed, lost: true,
			want: []string{"1,960 of 2,000 accepted records (98 %) are more than --max-events-per-key 1 allows", "bounds of 1 × 30, and a budget that lasts for "},
		},
		{
			// 20 users on each of 100 days, with a budget for 4.
			name: "over budget", header: header, record: func(i int) string {
				return fmt.Sprintf("%s,u%d,north", rfc3339(spring.AddDate(0, 0, i/20)), i%20)
			},
			args: append([]string{"--last-at-least", "4"}, listed...), lost: true,
			want: []string{"1,920 of 2,000 accepted records (96 %) are of users whose budget was spent (--last-at-least 4)"},
		},
		{
			name: "keys that are not listed", header: header, record: func(i int) string {
				return fmt.Sprintf("%s,u%d,%s", rfc3339(minutes(i/2)), i, []string{"North ", "west"}[i%2])
			},
			args: listed,
			want: []string{"2,000 of 2,000 accepted records (100 %) have a key that --public-keys does not list; 1,000 differ from a key of the list only in case or spaces"},
		},
		{
			name: "windows that are too small", header: header, record: ordinary(rfc3339), args: []string{"--window", "10m"},
			want: []string{"only 20 of 100 counts", "the largest count within the bounds is about 20", "windows of 1h: typically "},
		},
		{
			// In any order, and enough of everything: nothing to explain.
			name: "all is well", header: header, record: func(i int) string { return ordinary(rfc3339)(i * 7919 % 2000) },
			never: []string{"why", "were lost before", "nothing was released"},
		},
	}
}

// Each cause of little or nothing being released is named by its figures, with a flag and a value,
// and none that the file does not prove.
func TestDemoSaysWhatDidIt(t *testing.T) {
	t.Parallel()
	cases := causeCases()
	if !long.On() {
		cases = cases[:4]
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			name := "visits.jsonl"
			if c.header != "" {
				name = "visits.csv"
				b.WriteString(c.header + "\n")
			}
			for i := range 2000 {
				b.WriteString(c.record(i) + "\n")
			}
			args := []string{"demo", "--input", write(t, name, b.String()), "--user-field", "who", "--key-field", "where", "--time-field", "when",
				"--window", "24h", "--max-keys-per-user", "1", "--max-events-per-key", "1"}
			if c.header != "" {
				args = append(args, "--header")
			}
			code, stdout, stderr := run(t, append(args, c.args...)...)
			nothing := strings.Contains(stderr, "error: nothing to release: no record")
			if (code != exitOK) != nothing || nothing && (code != exitError || stdout != "") {
				t.Errorf("exit %d, %s, stdout %s", code, stderr, stdout)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, stderr)
				}
			}
			_, after, _ := strings.Cut(stderr, "what became of the records")
			for _, never := range c.never {
				if strings.Contains(after, never) {
					t.Errorf("stderr has %q:\n%s", never, stderr)
				}
			}
			if strings.Count(stderr, "\nwhy: ") > 3 {
				t.Errorf("more than three causes:\n%s", stderr)
			}
			if strings.Contains(stdout, "why") || strings.Contains(stdout, "of 2,000") || strings.Contains(stdout, "lost") {
				t.Errorf("stdout depends on the data:\n%s", stdout)
			}
			if strings.Contains(stderr, "were lost before counting") != (c.lost && !nothing) {
				t.Errorf("lost is not %v:\n%s", c.lost, stderr)
			}
		})
	}
}

// With --strict a demo that loses most of its records ends with a status of its own, after all
// reports are written.
func TestStrictRefusesLosses(t *testing.T) {
	t.Parallel()
	half := "when,who,where\n" + strings.Repeat("2025-03-01T00:00:00Z,a,north\nsoon,a,north\n", 2)
	for _, c := range []struct {
		name, text string
		want       int
	}{{"half", half, exitOK}, {"more than half", half + "soon,b,north\n", exitLosses}} {
		report := filepath.Join(t.TempDir(), "tallies.json")
		args := append(fileArgs(write(t, "visits.csv", c.text), "--max-events-per-key", "9", "--public-keys", "north", "--skip-bad-times"), "--trusted-report", report)
		if code, _, stderr := run(t, args...); code != exitOK || strings.Contains(stderr, "were lost before") != (c.want != exitOK) {
			t.Errorf("%s: exit %d, stderr %s", c.name, code, stderr)
		}
		code, stdout, stderr := run(t, append(args, "--strict")...)
		if code != c.want || strings.Contains(stderr, "error: more than half of the records were lost") != (c.want != exitOK) || !strings.Contains(stdout, "north") {
			t.Errorf("%s with --strict: exit %d, stderr %s", c.name, code, stderr)
		}
		if _, err := os.Stat(report); err != nil {
			t.Error(err)
		}
	}
}

// Where more than a tenth of the times cannot be read, the others may be misread: demo and plan
// refuse the file, with the layout that reads them, before anything is promised.
func TestAFileOfWhichManyTimesCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	long.Test(t)
	file := func(days int, rest string) string {
		var b strings.Builder
		b.WriteString("when,who,where\n")
		for i := range 900 {
			fmt.Fprintf(&b, "03/%02d/2025,u%d,north\n", 1+i%days, i)
		}
		return write(t, "visits.csv", b.String()+strings.Repeat(rest, 100))
	}
	columns := []string{"--header", "--user-field", "who", "--key-field", "where", "--time-field", "when", "--window", "1d", "--input"}
	american := file(28, "")
	for _, command := range []string{"demo", "plan"} {
		args := append(append([]string{command}, columns...), american)
		code, stdout, stderr := run(t, append(args, "--time-layout", "%d/%m/%Y")...)
		if code != exitError || stdout != "" || !strings.Contains(stderr, " of 900 records (57 %) have a time that cannot be read: lines 14, 15, 16 and more; line 14 is like 99/99/9999,x9") || !strings.Contains(stderr, "give --time-layout '%m/%d/%Y'; to leave them out, add --skip-bad-times") {
			t.Errorf("%s: exit %d, %s\n%s", command, code, stdout, stderr)
		}
		mustRun(t, append(args, "--time-layout", "%m/%d/%Y")...)
		mustRun(t, append(args, "--time-layout", "%d/%m/%Y", "--skip-bad-times")...)
		// A tenth is a file with some broken records.
		mustRun(t, append(append([]string{command}, columns...), file(28, "soon,u1,north\n"), "--time-layout", "%m/%d/%Y")...)
		if code, _, stderr = run(t, append(append([]string{command}, columns...), file(28, "soon,u1,north\nsoon,u2,north\n"), "--time-layout", "%m/%d/%Y")...); code != exitError || !strings.Contains(stderr, "200 of 1,100 records (18 %)") || !strings.Contains(stderr, "correct --time-field, --time-unit or --time-layout") {
			t.Errorf("%s: exit %d, %s", command, code, stderr)
		}
	}
}

// A user's id may be the name of a member. Texts list members of many records only if all of these
// records have them.
func TestRuleMembersThatMayBeUsersAreNotShown(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]string{"no user": rfc3339(spring), "no time": "soon"} {
		for _, records := range []int{1, 2000} {
			var b strings.Builder
			for i := range records {
				fmt.Fprintf(&b, `{"who": {"person-%d": {"n": 1}}, "person": "u%d", "where": "north", "when": %q}`+"\n", i%1000, i, when)
			}
			path := write(t, "visits.jsonl", b.String())
			user := "who"
			if name == "no time" {
				user = "person"
			}
			for _, command := range []string{"demo", "plan"} {
				code, stdout, stderr := run(t, command, "--input", path, "--user-field", user, "--key-field", "where", "--time-field", "when")
				if code != exitError || strings.Contains(stdout+stderr, "person-") || strings.Contains(stderr, "the fields are person, when, where") != (records > 1) {
					t.Errorf("%s, %s of %d records: exit %d, %s%s", name, command, records, code, stdout, stderr)
				}
			}
		}
	}
}
