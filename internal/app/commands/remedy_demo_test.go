package commands

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
)

// commandOf matches a whole command that a demo prints.
var commandOf = regexp.MustCompile(`(?m)(.*)\n  (tollgate demo (?:.*\\\n)*.*)`)

var demoRemedies = []remedy{
	{texts: []string{"is the start of a day, and demo may choose windows of hours"}, done: "internal/app/commands.TestAFileOfDatesIsCountedInDays"},
	{texts: []string{
		"gives %s times from %s to %s", "have no time of the years", "the earliest is of", "the latest is of",
		"allows a user for a key in a window", "are of users whose budget was spent", "allows a user in a window",
		"list it, or find the keys of the file", "are swapped. The data do not prove it",
		"check --user-field %s", "check --time-field %s and --time-unit", "--time-layout reads others", "keys must be UTF-8",
	}, walk: func(w *walk) {
		tried := map[string]bool{}
		typically := regexp.MustCompile(`typically ([0-9.]+) %.*noise ([0-9.]+) %`)
		for _, c := range causeCases() {
			line := w.causeLine(c)
			_, output := w.line(line)
			w.missing(output)
			for _, found := range commandOf.FindAllStringSubmatch(output, -1) {
				what, command := found[1], strings.ReplaceAll(found[2], "\\\n", "")
				tried[what[:min(len(what), 12)]] = true
				code, stdout, again := run(w.T, shellWords(w.T, strings.Join(strings.Fields(command), " "))...)
				if code != exitOK {
					w.Errorf("%s: %s: exit %d\n%s", c.name, command, code, again)
				}
				said := typically.FindStringSubmatch(what)
				if said == nil {
					continue
				}
				got := typically.FindStringSubmatch(again)
				if got == nil && strings.Contains(again, "nothing comes out") && said[1] >= "2" && len(said[1]) > 1 {
					continue // a key near the threshold comes out by luck
				}
				if got == nil {
					w.Errorf("%s: %s\n%s%s", c.name, what, stdout, again)
					continue
				}
				forecast, err1 := strconv.ParseFloat(said[1], 64)
				came, err2 := strconv.ParseFloat(got[1], 64)
				noise, err3 := strconv.ParseFloat(said[2], 64)
				// Of one cell the median moves by the noise, which is 8 times its own median, 5.4
				// standard deviations, once in 10⁷ values.
				if err1 != nil || err2 != nil || err3 != nil || came > 1.25*forecast+8*noise+1 {
					w.Errorf("%s: %s: it came out %s %%", c.name, what, got[1])
				}
			}
		}
		if len(tried) < 4 {
			w.Errorf("few commands are printed: %v", tried)
		}
	}},
	{texts: []string{"check --key-field %s", "check --input-format %s, --header and --columns"}, walk: func(w *walk) {
		w.vars["F"] = write(w, "events.jsonl", strings.Repeat(`{"user":"a","page":"b","when":"2025-03-03T00:00:00Z"}`+"\n", 20))
		w.vars["G"] = write(w, "broken.jsonl", strings.Repeat(`{"user"`+"\n", 20))
		const demo = "demo --input $F --user-field user --key-field page --time-field when --window 24h --public-keys b"
		w.says(strings.Replace(demo, "--key-field page", "--key-field pages", 1))
		w.says(strings.Replace(demo, "$F", "$G", 1))
		w.works(demo)
	}},
	{texts: []string{"add --skip-bad-times", "correct --time-field, --time-unit or --time-layout", "give --time-layout '"}, done: "internal/app/commands.TestAFileOfWhichManyTimesCannotBeReadIsRefused"},
	{texts: one("of the promise is too little for it: raise --epsilon"), walk: func(w *walk) {
		w.vars["F"] = manyUsers(w.T, 40)
		const demo = "demo --input $F --header --user-field who --time-field when --delta 1e-9 --max-keys-per-user 1 --last-at-least 1"
		w.refused(demo + " --epsilon 2e-5")
		w.works(demo + " --epsilon 1")
		w.works(demo + " --epsilon 2e-5 --max-events-per-key 1")
	}},
	{texts: []string{"(--from and --to protect it)", "(--from protects it)", "(--to protects it)", "so that it is protected"}, walk: func(w *walk) {
		for _, line := range []string{onFile, onFile + " --to 2025-03-05", onFile + " --from 2025-03-03"} {
			w.says(line)
		}
		if output := w.says(onFile + " --from 2025-03-03 --to 2025-03-05"); strings.Contains(output, "protect it)") {
			w.Error(output)
		}
	}},
	{texts: []string{"chosen by noisy tables of what about", "%s; the end says how far"}, walk: func(w *walk) {
		w.vars["F"] = manyUsers(w.T, 4000)
		const file = " --input $F --header --user-field who --key-field what --time-field when"
		w.says("demo" + file)
		w.says("demo" + file + " --kind distinct_users")
		for _, change := range []string{" --max-keys-per-user 2", " --max-events-per-key 2", " --last-at-least 3"} {
			w.says("demo" + file + change)
		}
		w.works("demo" + file + " --max-keys-per-user 2 --max-events-per-key 2 --last-at-least 3")
		w.must("plan" + file + " --window 24h")
	}},
	{texts: []string{"or go on with --all-windows", "the events are spread from"}, walk: func(w *walk) {
		var b strings.Builder
		b.WriteString("user,page,when\n")
		for year := range 50 {
			fmt.Fprintf(&b, "u,a,%d-01-01T00:00:00Z\n", 1975+year)
		}
		w.vars["F"] = write(w, "spread.csv", b.String())
		spread := strings.Replace(onFile, "$E", "$F", 1)
		hourly := strings.Replace(spread, "24h", "1h", 1)
		w.refused(hourly)
		w.works(strings.Replace(spread, "24h", "8760h", 1))
		w.works(hourly + " --from 1980-01-01 --to 1980-01-02")
		begun := errors.New("it has begun")
		ctx := crashpoint.With(w.Context(), crashpoint.Hooks{At: func(string, int) error { return begun }})
		args := append(strings.Fields(strings.Replace(hourly, "$F", w.vars["F"], 1)), "--all-windows")
		if _, _, stderr := runWith(ctx, nil, args...); !strings.Contains(stderr, begun.Error()) { // all of them would take hours
			w.Error(stderr)
		}
	}},
	{texts: one("make it shorter"), not: "a demo that takes minutes; that more windows take longer needs no test"},
}

// causeLine writes the file of a case, and returns the demo of it.
func (w *walk) causeLine(c causeCase) string {
	w.Helper()
	var b strings.Builder
	name := "visits.jsonl"
	if c.header != "" {
		name = "visits.csv"
		b.WriteString(c.header + "\n")
	}
	for i := range 2000 {
		b.WriteString(c.record(i) + "\n")
	}
	w.vars["F"] = write(w, name, b.String())
	line := "demo --input $F --user-field who --key-field where --time-field when --window 24h --max-keys-per-user 1 --max-events-per-key 1 " + strings.Join(c.args, " ")
	if c.header != "" {
		line += " --header"
	}
	return line
}
