package commands

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Exact tallies must never replace the page that is made for publication.
func TestRuleThePublicPageIsNoTrustedReport(t *testing.T) {
	t.Chdir(t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile("page.html", []byte("old"), 0o600))
	must(os.Symlink("page.html", "linked"))
	must(os.Link("page.html", "hard"))
	must(os.Mkdir("here", 0o700))
	must(os.Symlink("here", "there"))
	full, err := filepath.Abs("new.html")
	must(err)
	config := deploymentFile(t, "127.0.0.1:1")
	for _, paths := range [][2]string{
		{"page.html", "page.html"}, {"new.html", "./new.html"}, {"new.html", full}, {"nowhere/new.html", "nowhere/./new.html"},
		{"page.html", "linked"}, {"hard", "page.html"}, {"here/new.html", "there/new.html"},
	} {
		for _, args := range [][]string{small(), {"run", "--config", config}} {
			code, stdout, stderr := run(t, append(args, "--report", paths[0], "--trusted-report", paths[1])...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, "name the same file") {
				t.Errorf("%s with %q: exit %d, stderr %q", args[0], paths, code, stderr)
			}
		}
	}
	if text, err := os.ReadFile("page.html"); err != nil || string(text) != "old" {
		t.Errorf("the page is now %q (%v)", text, err)
	}
	must(os.WriteFile("tallies.json", nil, 0o600))
	for _, paths := range [][2]string{{"page.html", "tallies.json"}, {"new.html", "here/new.html"}, {"new.html", "newer.html"}} {
		if err := apart(paths[0], paths[1]); err != nil {
			t.Errorf("%q are two files: %v", paths, err)
		}
	}
}

func TestNoReportReplacesTheInput(t *testing.T) {
	t.Parallel()
	const text = "u,a,1740787200000\n"
	for _, flag := range []string{"--report", "--trusted-report"} {
		input := write(t, "visits.csv", text)
		code, _, stderr := run(t, "demo", "--input", input, "--user-field", "1", "--key-field", "2", "--time-field", "3", flag, input)
		if code != exitUsage || !strings.Contains(stderr, "would overwrite "+input) {
			t.Errorf("%s: exit %d, %s", flag, code, stderr)
		}
		if got, err := os.ReadFile(input); err != nil || string(got) != text {
			t.Errorf("%s: the input has become %q, %v", flag, got, err)
		}
	}
}

// No report replaces what a command reads beside its input: keys, lists, the configuration and what
// that names.
func TestNoReportReplacesWhatIsRead(t *testing.T) {
	t.Parallel()
	key, list, csv := write(t, "noise.key", strings.Repeat("7a", 32)), write(t, "keys.txt", "a\n"), write(t, "in.csv", "u,a,1740787200000\n")
	cfg := deploymentFile(t, "localhost:1")
	secret := filepath.Join(filepath.Dir(cfg), "secrets", "noise.key")
	if err := errors.Join(os.Mkdir(filepath.Dir(secret), 0o700), os.WriteFile(secret, []byte(strings.Repeat("7a", 32)), 0o600),
		os.WriteFile(filepath.Join(filepath.Dir(secret), "user-hash.key"), []byte(strings.Repeat("7b", 32)), 0o600)); err != nil {
		t.Fatal(err)
	}
	file := []string{"--input", csv, "--user-field", "1", "--key-field", "2", "--time-field", "3"}
	for _, c := range []struct {
		spared string
		args   []string
	}{
		{key, append([]string{"demo", "--noise-key-file", key}, file...)}, {list, append([]string{"demo", "--public-keys", list}, file...)},
		{csv, append([]string{"plan"}, file...)},
		{cfg, []string{"run", "--config", cfg}}, {secret, []string{"run", "--config", cfg}}, {cfg, []string{"plan", "--config", cfg}}, {secret, []string{"plan", "--config", cfg}},
	} {
		before, _ := os.ReadFile(c.spared) //nolint:errcheck // it may not be there
		code, stdout, stderr := run(t, append(c.args, "--report", c.spared)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "--report would overwrite "+c.spared) {
			t.Errorf("%s: exit %d, %s%s", c.args, code, stdout, stderr)
		}
		if after, _ := os.ReadFile(c.spared); string(after) != string(before) { //nolint:errcheck // it may not be there
			t.Errorf("%s: %s has become %q", c.args, c.spared, after)
		}
	}
}

// A report replaces an earlier report of its kind, and an empty file, and nothing else.
func TestNoReportReplacesAFileOfSomebodyElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page, tallies := filepath.Join(dir, "page.html"), filepath.Join(dir, "tallies.json")
	for range 2 { // the second run replaces what the first one wrote
		mustRun(t, small("--report", page, "--trusted-report", tallies)...)
	}
	plan := filepath.Join(dir, "plan.html")
	input := write(t, "few.csv", "user,page,when\nu,a,2025-03-01T00:00:00Z\nv,a,2025-03-01T01:00:00Z\n")
	planning := []string{"plan", "--input", input, "--header", "--user-field", "user", "--key-field", "page", "--time-field", "when", "--window", "1d"}
	for range 2 {
		mustRun(t, append(planning, "--report", plan)...)
	}
	mustRun(t, small("--report", write(t, "empty.html", ""), "--trusted-report", write(t, "empty.json", ""))...)

	own := write(t, "thesis.html", "<!DOCTYPE html>\n<p>mine</p>\n")
	config := deploymentFile(t, "127.0.0.1:1")
	for i, name := range []string{"noise.key", "user-hash.key"} {
		key := filepath.Join(filepath.Dir(config), "secrets", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(key), 0o700), os.WriteFile(key, []byte(strings.Repeat(fmt.Sprintf("%02x", i+1), 32)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ args, files []string }{
		{small("--report"), []string{own, plan, tallies}},
		{small("--trusted-report"), []string{own, page}},
		{append(planning, "--report"), []string{own, page}},
		{[]string{"run", "--config", config, "--wait-for-broker", "0", "--report"}, []string{own, plan}},
		{[]string{"run", "--config", config, "--wait-for-broker", "0", "--trusted-report"}, []string{own, page}},
	} {
		for _, file := range tc.files {
			before := contentsOf(t, file)
			code, stdout, stderr := run(t, append(slices.Clone(tc.args), file)...)
			if code != exitError || stdout != "" || !strings.Contains(stderr, file+" exists and is not a") || !strings.Contains(stderr, "name another file, or remove this one") {
				t.Errorf("%s %s: exit %d, stderr %q", tc.args, file, code, stderr)
			}
			if contentsOf(t, file) != before {
				t.Errorf("%s: %s has changed", tc.args, file)
			}
		}
	}
}
