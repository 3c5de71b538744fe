package commands

import (
	"fmt"
	"strings"
	"testing"
)

// unnamedFile writes 900 records of one day and key, of which every third has no user.
func unnamedFile(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("user,page,when\n")
	for i := range 900 {
		user := fmt.Sprint("u", i)
		if i%3 == 0 {
			user = ""
		}
		fmt.Fprintf(&b, "%s,home,2025-03-03T00:%02d:00Z\n", user, i%60)
	}
	return write(t, "some.csv", b.String())
}

const ofUnnamed = " --header --user-field user --key-field page --time-field when"

// A bound of one event leaves all records of different users: those without one are users of their
// own, or are not there. The noise is below 0.4 events.
func TestDemoOnRecordsWithoutAUser(t *testing.T) {
	t.Parallel()
	path := unnamedFile(t)
	bounds := strings.Fields(ofUnnamed + " --window 1d --public-keys home --max-keys-per-user 1 --max-events-per-key 1 --last-at-least 1 --relative 0 --epsilon 50 --format json")
	for _, c := range []struct {
		noUser []string
		count  float64
		said   string
	}{
		{nil, 600, "without a user: 300 records; they are broken records: --no-user skip leaves them out, and --no-user each"},
		{[]string{"--no-user", "skip"}, 600, "without a user: 300 records; left out"},
		{[]string{"--no-user", "each"}, 900, "an event without a user counts as a user of its own"},
	} {
		stdout, stderr := mustRun(t, append(append([]string{"demo", "--input", path}, bounds...), c.noUser...)...)
		var value float64
		if _, after, found := strings.Cut(stdout, `"value":`); found {
			fmt.Sscan(strings.SplitN(after, ",", 2)[0], &value) //nolint:errcheck // 0 is wrong as well
		}
		if value < c.count-4 || value > c.count+4 {
			t.Errorf("%v: a count of %v, want about %v", c.noUser, value, c.count)
		}
		if strings.Contains(stdout, "without a user") || !strings.Contains(strings.Join(strings.Fields(stderr), " "), c.said) {
			t.Errorf("%v: %s%s", c.noUser, stdout, stderr)
		}
	}
}
