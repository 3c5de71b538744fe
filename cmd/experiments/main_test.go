package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), append([]string{}, args...), &out, &errs) // cobra takes nil for os.Args
	return code, out.String(), errs.String()
}

func TestHelpGolden(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, "--help")
	if code != exitOK || stderr != "" {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
	golden.File(t, "testdata/help.golden", stdout)
}

func TestExperimentsAreListedAndRun(t *testing.T) {
	t.Parallel()
	_, stdout, _ := run(t)
	for _, e := range experiments() {
		if !strings.Contains(stdout, e.Name+" ") || !strings.Contains(stdout, e.Title) || e.Source == "" {
			t.Errorf("%s is not listed with its title, or has no source:\n%s", e.Name, stdout)
		}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	code, stdout, stderr := run(t, "odometers", "--size", "small", "--format", "json", "--report", page)
	var found struct {
		Name, Size string
		Seed       int
		Tables     []struct{ Rows [][]any }
	}
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || code != exitOK || found.Name != "odometers" ||
		found.Size != "small" || found.Seed != 1 || len(found.Tables) != 2 {
		t.Errorf("exit %d, %+v (%v), stderr %q", code, found, err, stderr)
	}
	html, err := os.ReadFile(page)
	if err != nil || strings.Count(string(html), "<svg") != 2 {
		t.Errorf("the page has no two figures (%v)", err)
	}
	command := regexp.MustCompile(`go run ./cmd/experiments (\S+ --seed \d+ --size [a-z]+)\n`).FindSubmatch(html)
	if command == nil {
		t.Fatal("the page does not say how to repeat it")
	}
	if _, again, _ := run(t, append(strings.Fields(string(command[1])), "--format", "json")...); again != stdout {
		t.Errorf("%s gives %s\nnot\n%s", command[1], again, stdout)
	}
}

func TestExperimentsThatCannotRunSayWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"nothing", `there is no experiment "nothing": it must be year, counts, `, exitUsage},
		{"counts --size huge", `--size is "huge": it must be small or default`, exitUsage},
		{"counts --seed x", `--seed is "x": it must be a whole number, at least 0`, exitUsage},
		{"counts --colour", "see experiments --help", exitUsage},
		{"counts year", "run one after the other", exitUsage},
		{"descent-census --data " + file, "is not a directory", exitUsage},
		{"descent-census --data " + filepath.Join(dir, "none"), "no such file", exitError},
		{"counts --data " + dir, "uses no real data: leave out --data", exitUsage},
		{"counts --report " + dir, "opening --report", exitError},
		{"--report x.html", "need the name of an experiment", exitUsage},
	} {
		code, stdout, stderr := run(t, strings.Fields(c.args)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, stderr %q, want %d and %q", c.args, code, stderr, c.code, c.want)
		}
	}
}

// Every command line of experiments in the documentation or the help has a valid name and valid
// flags.
func TestShownCommandLinesAreOfThisProgram(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := (&command{}).root().Example
	for _, path := range append(pages, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		shown += "\n" + string(text)
	}
	lines := regexp.MustCompile("go run \\./cmd/experiments([^`\n|)]*)").FindAllStringSubmatch(shown, -1)
	for _, line := range lines {
		root := (&command{}).root()
		err := root.ParseFlags(strings.Fields(line[1]))
		if given := root.Flags().Args(); err != nil || len(given) > 1 ||
			len(given) == 1 && !slices.Contains(append(names(), "NAME"), given[0]) {
			t.Errorf("%s: %v", line[0], err)
		}
	}
	if len(lines) < 12 {
		t.Errorf("%d command lines were found", len(lines))
	}
}
