package commands

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
)

// remedy is how texts of the program that name a remedy are tried. Exactly one of walk, done, by
// and not is there.
type remedy struct {
	texts []string      // a part of each, as it stands in the source
	walk  func(w *walk) // brings the state about, has the texts printed, and does as they say
	done  string        // another test, which does what the text says and sees it work
	by    string        // another test, which only has the text printed
	not   string        // why no test can
}

// walk is one way from a text to where its remedy leads.
type walk struct {
	*testing.T
	vars  map[string]string // what stands for $NAME in command lines
	texts []sourceText
	seen  []bool
	// environment has the variables that commands see.
	environment map[string]string
	hooks       crashpoint.Hooks // of commands that run in the background
}

// TestEveryRemedyIsWalked finds every text of the program that names a remedy. A walk has it
// printed in the state that it is for, and does what it says; a text without a walk has another
// test, or a reason. A text of several entries counts as the best of them.
func TestEveryRemedyIsWalked(t *testing.T) {
	t.Parallel()
	texts := sourceTexts(t)
	all := slices.Concat(topicRemedies, deploymentRemedies, keyRemedies, recordRemedies, replayRemedies, flagRemedies, demoRemedies, planRemedies, configRemedies, budgetRemedies, restoredRemedies, serveRemedies, waitingRemedies, noUserRemedies, kindRemedies, otherRemedies)
	kinds := []string{"by nobody", "not here", "only printed", "done by another test", "walked"}
	covered := make([]int, len(texts)) // the greatest index of kinds
	for _, r := range all {
		var of []sourceText
		for _, part := range r.texts {
			found := false
			for i, s := range texts {
				if strings.Contains(s.text, part) {
					found = true
					covered[i] = max(covered[i], r.kind())
					of = append(of, s)
				}
			}
			if !found {
				t.Errorf("no text of the program that names a remedy has %q in it any more", part)
			}
		}
		switch {
		case r.walk != nil:
			t.Run(r.texts[0], func(t *testing.T) {
				if testing.Short() {
					t.Skip("walks")
				}
				t.Parallel()
				w := &walk{T: t, vars: map[string]string{}, texts: of, seen: make([]bool, len(of))}
				r.walk(w)
				for i, seen := range w.seen {
					if !seen && !t.Failed() {
						t.Errorf("%s: the walk never came to the text %q", of[i].at, of[i].text)
					}
				}
			})
		case r.done != "" || r.by != "":
			testExists(t, r.done+r.by)
		}
	}
	count := map[string]int{}
	for i, s := range texts {
		count[kinds[covered[i]]]++
		if covered[i] == 0 {
			t.Errorf("%s: nobody has tried the remedy of %q", s.at, s.text)
		}
	}
	t.Logf("%d texts name a remedy: %v", len(texts), count)
}

// kind returns how texts are tried, as an index: the more is done the greater.
func (r *remedy) kind() int {
	switch {
	case r.walk != nil:
		return 4
	case r.done != "":
		return 3
	case r.by != "":
		return 2
	}
	return 1
}

// testExists fails where there is no such test, given as directory.Name.
func testExists(t *testing.T, test string) {
	t.Helper()
	dir, name, _ := strings.Cut(test, ".")
	files, err := filepath.Glob(filepath.Join("../../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return
		}
	}
	t.Errorf("there is no test %s", test)
}

// line runs a command line, in which $NAME stands for something of the walk.
func (w *walk) line(line string) (code int, output string) {
	w.Helper()
	return w.lineUnder(context.Background(), line)
}

// lineUnder runs a command line under a context, which may have crash points.
func (w *walk) lineUnder(ctx context.Context, line string) (code int, output string) {
	w.Helper()
	code, stdout, stderr := runWith(ctx, w.environment, w.args(line)...)
	return code, stdout + stderr
}

// args returns the arguments of a command line.
func (w *walk) args(line string) (args []string) {
	w.Helper()
	for _, arg := range strings.Fields(line) {
		args = append(args, os.Expand(arg, w.value))
	}
	return args
}

// says runs a command that prints one of the texts, and returns its output.
func (w *walk) says(line string) string {
	w.Helper()
	code, output := w.line(line)
	if w.missing(output) {
		w.Fatalf("tollgate %s says none of the texts (exit %d): %s", line, code, output)
	}
	return output
}

// missing says whether an output has none of the texts, and remembers those that it has.
func (w *walk) missing(output string) bool {
	none := true
	for i, s := range w.texts {
		if s.printed.MatchString(output) {
			w.seen[i], none = true, false
		}
	}
	return none
}

// refused runs a command that fails with one of the texts.
func (w *walk) refused(line string) string {
	w.Helper()
	if code, output := w.line(line); code == exitOK {
		w.Fatalf("tollgate %s is not refused: %s", line, output)
	}
	return w.says(line)
}

// works runs a command that the remedy has repaired: it succeeds, and says none of the texts.
func (w *walk) works(line string) string {
	w.Helper()
	code, output := w.line(line)
	if code != exitOK {
		w.Fatalf("tollgate %s: exit %d: %s", line, code, output)
	}
	for _, s := range w.texts {
		if s.printed.MatchString(output) {
			w.Errorf("tollgate %s still says %q: %s", line, s.text, output)
		}
	}
	return output
}

// must runs a command of the remedy, or of the way to the state.
func (w *walk) must(line string) string {
	w.Helper()
	code, output := w.line(line)
	if code != exitOK {
		w.Fatalf("tollgate %s: exit %d: %s", line, code, output)
	}
	return output
}

// value returns what stands for $NAME.
func (w *walk) value(name string) string {
	if v, is := w.vars[name]; is {
		return v
	}
	v := ""
	switch name {
	case "B":
		v = broker(w)
	case "C":
		v = deploymentFile(w, "127.0.0.1:1")
	case "CSV":
		v = visits(w, true)
	case "E":
		v = write(w, "events.csv", fewEvents)
	case "D":
		v = w.TempDir()
	default:
		w.Fatalf("nothing stands for $%s", name)
	}
	w.vars[name] = v
	return v
}

// configured writes the configuration of a deployment that does not exist yet.
func (w *walk) configured(change ...string) {
	w.Helper()
	w.vars["C"] = deploymentFile(w, w.value("B"), change...)
}

// begun begins a deployment in March 2025.
func (w *walk) begun(change ...string) {
	w.Helper()
	w.configured(change...)
	w.must("init --config $C --generate-keys --create-topics --event-partitions 1 --start 2025-03-01")
}

// settled begins a deployment with events, of which a run has settled the first two days.
func (w *walk) settled(change ...string) {
	w.Helper()
	w.begun(change...)
	w.must("replay --config $C --input $CSV --header")
	w.must("run --config $C --until 2025-03-03 --wait 1m")
}

// move gives a file beside the configuration another name.
func (w *walk) move(from, to string) {
	w.Helper()
	if err := os.Rename(w.beside(from), w.beside(to)); err != nil {
		w.Fatal(err)
	}
}

// edit changes the configuration.
func (w *walk) edit(change ...string) {
	w.Helper()
	edit(w.T, w.value("C"), change...)
}

// lines is a walk of two command lines: one that prints the text, and the same as the text says.
func lines(wrong, right string) func(*walk) {
	return func(w *walk) {
		w.refused(wrong)
		w.works(right)
	}
}

func one(text string) []string { return []string{text} }
