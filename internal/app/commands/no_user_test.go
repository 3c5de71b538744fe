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

func TestPlanOnRecordsWithoutAUser(t *testing.T) {
	t.Parallel()
	path := unnamedFile(t)
	for noUser, events := range map[string]string{"skip": "600 events of 600 users", "each": "900 events of 900 users"} {
		if stdout, _ := mustRun(t, append([]string{"plan", "--input", path, "--window", "1d", "--no-user", noUser}, strings.Fields(ofUnnamed)...)...); !strings.Contains(stdout, events) {
			t.Errorf("%s: %s", noUser, stdout)
		}
	}
}

var noUserRemedies = []remedy{
	{texts: one("no record has a user in %s: correct --user-field"), walk: func(w *walk) {
		w.vars["F"] = write(w, "some.jsonl", strings.Repeat(`{"user":"a","page":"home","when":"2025-03-03T00:00:00Z"}`+"\n", 20))
		for _, noUser := range []string{"skip", "each"} {
			line := "demo --input $F --user-field usr --key-field page --time-field when --public-keys home --window 1d --no-user " + noUser
			w.refused(line)
			w.works(strings.Replace(line, "usr", "user", 1))
			line = "plan --input $F --user-field usr --key-field page --time-field when --public-keys home --window 1d --no-user " + noUser
			w.refused(line)
			w.works(strings.Replace(line, "usr", "user", 1))
		}
	}},
	{texts: []string{"is empty there: leave such records out with --no-user skip", "they are broken records: --no-user skip leaves them out"}, walk: func(w *walk) {
		w.vars["F"] = unnamedFile(w)
		output := w.says("demo --input $F --window 1d --max-keys-per-user 1 --max-events-per-key 1 --last-at-least 1 --epsilon 0.001" + ofUnnamed)
		found := commandOf.FindStringSubmatch(output)
		if found == nil || !strings.Contains(found[2], "--no-user skip") {
			w.Fatal(output)
		}
		w.works(strings.TrimPrefix(strings.ReplaceAll(found[2], "\\\n", ""), "tollgate "))
		w.works("demo --input $F --public-keys home --window 1d --no-user each" + ofUnnamed)
	}},
	{texts: []string{"events.fields.user in %s", "--no-user each needs events.no_user: each in %s"}, walk: func(w *walk) {
		w.begun("columns: [when, who, where]", "columns: [when, who, where, nobody]", "user: who", "user: nobody")
		w.vars["F"] = write(w, "nobody.csv", "when,who,where,nobody\n2025-03-03T00:00:00Z,ann,north,\n")
		w.refused("replay --config $C --input $F --header --no-user each")
		w.refused("replay --config $C --input $F --header --no-user skip")
		w.configured("deployment: shop", "deployment: shop2", "topic: visits", "topic: visits2", "columns: [when, who, where]", "columns: [when, who, where, nobody]", "time_unit: rfc3339", "time_unit: rfc3339\n  no_user: each")
		w.must("init --config $C --generate-keys --create-topics --event-partitions 1 --start 2025-03-01")
		w.works("replay --config $C --input $F --header --no-user each")
		w.works("replay --config $C --input $F --header")
	}},
	{texts: one(", for ever; with privacy.period those of past periods are dropped"), walk: func(w *walk) {
		w.configured("time_unit: rfc3339", "time_unit: rfc3339\n  no_user: each")
		madeKeys(w.T, w.value("C"), 0o600)
		w.says("validate --offline --config $C")
		w.edit("delta: 1e-6", "delta: 1e-6, period: 4d")
		w.works("validate --offline --config $C")
	}},
}
