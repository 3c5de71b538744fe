package commands

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
)

// cures are what a demo prints as a flag with a value, and the flag.
var cures = []struct{ printed, flag string }{
	{`(--time-field \S+ --time-unit \S+) gives`, ""},
	{`(--epsilon \S+), a weaker promise, lowers it`, ""},
	{`(--last-at-least \d+) lowers it`, ""},
	{`(--window \S+) raises the largest`, ""},
	{`(--from \S+) includes them`, ""},
	{`(--to \S+) includes them`, ""},
	{`--max-events-per-key \d+ allows a user for a key in a window: (\d+) would keep`, "--max-events-per-key "},
	{`\(--last-at-least \d+\): (\d+) would keep`, "--last-at-least "},
}

var demoRemedies = []remedy{
	{texts: []string{
		"gives %s times from %s to %s", "have no time of the years", "a weaker promise, lowers it to", "lowers it to %s", "raises the largest to", "the earliest is of", "the latest is of",
		"allows a user for a key in a window", "are of users whose budget was spent", "allows a user in a window", "; a smaller --window clips less",
		"for keys that are known without looking", "list it, or find the keys of the file", "are swapped. The data do not prove it",
		"check --user-field %s", "check --time-field %s and --time-unit", "keys must be UTF-8",
	}, walk: func(w *walk) {
		tried := map[string]bool{}
		for _, c := range causeCases() {
			line := w.causeLine(c)
			_, output := w.line(line)
			w.missing(output)
			for _, cure := range cures {
				found := regexp.MustCompile(cure.printed).FindStringSubmatch(output)
				if found == nil {
					continue
				}
				tried[cure.printed] = true
				said := line + " " + cure.flag + found[1]
				if _, again := w.line(said); regexp.MustCompile(cure.printed).MatchString(again) {
					w.Errorf("%s: %s was said, and then: %s", c.name, found[0], again)
				} else if regexp.MustCompile("lowers it|raises the").MatchString(found[0]) && strings.Contains(again, "nothing was released") {
					w.Errorf("%s: %s was said, and nothing is released with it: %s", c.name, found[0], again)
				}
			}
			if strings.Contains(output, publicKeysCure) {
				w.vars["KEYS"] = write(w, "keys.txt", "north\nsouth\npage-1\n")
				if again := w.must(line + " --keys public --public-keys $KEYS"); strings.Contains(again, publicKeysCure) {
					w.Errorf("%s: public keys, and then: %s", c.name, again)
				}
			}
		}
		for _, cure := range cures {
			if !tried[cure.printed] {
				w.Errorf("no case prints %s", cure.printed)
			}
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
	{texts: []string{"(--from and --to protect it)", "(--from protects it)", "(--to protects it)", "so that it is protected"}, walk: func(w *walk) {
		for _, line := range []string{onFile, onFile + " --to 2025-03-05", onFile + " --from 2025-03-03"} {
			w.says(line)
		}
		if output := w.says(onFile + " --from 2025-03-03 --to 2025-03-05"); strings.Contains(output, "protect it)") {
			w.Error(output)
		}
	}},
	{texts: one("chosen by noisy tables of what about"), walk: func(w *walk) {
		w.vars["F"] = manyUsers(w.T, 4000)
		const file = " --input $F --header --user-field who --key-field what --time-field when"
		w.says("demo" + file)
		for _, change := range []string{" --max-keys-per-user 2", " --max-events-per-key 2", " --last-at-least 3"} {
			w.works("demo" + file + change)
		}
		w.must("plan" + file + " --window 24h")
	}},
	{texts: one("--epsilon %v (a weaker promise)"), walk: func(w *walk) {
		w.vars["F"] = write(w, "few.csv", "user,page,when\n"+fewUsers())
		line := strings.Replace(onFile, "$E", "$F", 1) + " --max-keys-per-user 1 --max-events-per-key 1 --last-at-least 1 --epsilon "
		meetable := func(output string) int {
			from, err := strconv.Atoi(strings.ReplaceAll(w.proposed(output, "which counts from "), ",", ""))
			if err != nil {
				w.Fatal(err)
			}
			return from
		}
		output := w.says(line + "0.05")
		if again := w.must(line + w.proposed(output, "looking at the file): --epsilon ")); meetable(again) >= meetable(output) {
			w.Errorf("counts are no more exact: %s%s", output, again)
		}
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

// fewUsers returns lines of 400 users on two days.
func fewUsers() string {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "u%d,%s,2025-03-0%dT01:00:00Z\n", i, []string{"a", "b"}[i/2%2], 3+i%2)
	}
	return b.String()
}

const publicKeysCure = "--keys public --public-keys FILE"

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
