package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestExperimentsAreListedAndRun(t *testing.T) {
	t.Parallel()
	_, stdout, _ := run(t, "experiment")
	for _, e := range experiments() {
		if !strings.Contains(stdout, e.Name+" ") || !strings.Contains(stdout, e.Title) || e.Source == "" {
			t.Errorf("%s is not listed with its title, or has no source:\n%s", e.Name, stdout)
		}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	code, stdout, stderr := run(t, "experiment", "odometers", "--size", "small", "--format", "json", "--report", page)
	var found struct {
		Name, Size string
		Seed       int
		Tables     []struct{ Rows [][]any }
	}
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || code != exitOK || found.Name != "odometers" || found.Size != "small" || found.Seed != 1 || len(found.Tables) != 2 {
		t.Errorf("exit %d, %+v (%v), stderr %q", code, found, err, stderr)
	}
	html, err := os.ReadFile(page)
	if err != nil || strings.Count(string(html), "<svg") != 2 {
		t.Errorf("the page has no two figures (%v)", err)
	}
	command := regexp.MustCompile(`runner (experiment \S+ --seed \d+ --size [a-z]+)`).FindSubmatch(html)
	if command == nil {
		t.Fatal("the page does not say how to repeat it")
	}
	if again, _ := mustRun(t, append(strings.Fields(string(command[1])), "--format", "json")...); again != stdout {
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
		{"counts --size huge", "it must be small or default", exitUsage},
		{"descent-census --data " + file, "is not a directory", exitUsage},
		{"descent-census --data " + filepath.Join(dir, "none"), "no such file", exitError},
		{"counts --data " + dir, "knows no real data: leave it out", exitUsage},
		{"counts --report " + dir, "opening --report", exitError},
		{"--report x.html", "name it", exitUsage},
	} {
		code, stdout, stderr := run(t, append([]string{"experiment"}, strings.Fields(c.args)...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, stderr %q, want %d and %q", c.args, code, stderr, c.code, c.want)
		}
	}
}
