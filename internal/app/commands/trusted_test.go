package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
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
	config := commandtest.DeploymentFile(t, "127.0.0.1:1")
	for _, paths := range [][2]string{
		{"page.html", "page.html"}, {"new.html", "./new.html"}, {"new.html", full}, {"nowhere/new.html",
			"nowhere/./new.html"},
		{"page.html", "linked"}, {"hard", "page.html"}, {"here/new.html", "there/new.html"},
	} {
		for _, args := range [][]string{commandtest.Small(), {"run", "--config", config}} {
			code, stdout, stderr := tollgate(t, append(args, "--report", paths[0], "--trusted-report", paths[1])...)
			if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, ", which --report names") {
				t.Errorf("%s with %q: exit %d, stderr %q", args[0], paths, code, stderr)
			}
		}
	}
	if text, err := os.ReadFile("page.html"); err != nil || string(text) != "old" {
		t.Errorf("the page is now %q (%v)", text, err)
	}
	must(os.WriteFile("tallies.json", nil, 0o600))
	for _, paths := range [][2]string{{"page.html", "tallies.json"}, {"new.html", "here/new.html"},
		{"new.html", "newer.html"}} {
		if err := command.CheckOverwrite(command.Reports(paths[0], paths[1])); err != nil {
			t.Errorf("%q are two files: %v", paths, err)
		}
	}
}

func TestNoReportReplacesTheInput(t *testing.T) {
	t.Parallel()
	const text = "u,a,1740787200000\n"
	for _, flag := range []string{"--report", "--trusted-report"} {
		input := commandtest.Write(t, "visits.csv", text)
		code, _, stderr := tollgate(t, "demo", "--input", input, "--user-field", "1", "--key-field", "2",
			"--time-field", "3", flag, input)
		if code != command.ExitUsage || !strings.Contains(stderr, "would overwrite "+input) {
			t.Errorf("%s: exit %d, %s", flag, code, stderr)
		}
		if got, err := os.ReadFile(input); err != nil || string(got) != text {
			t.Errorf("%s: the input has become %q, %v", flag, got, err)
		}
	}
}

// A report replaces an earlier report of its kind, and an empty file, and nothing else.
func TestNoReportReplacesAFileOfSomebodyElse(t *testing.T) {
	t.Parallel()
	page, tallies := filepath.Join(t.TempDir(), "page.html"), filepath.Join(t.TempDir(), "tallies.json")
	for range 2 { // the second run replaces what the first one wrote
		mustRun(t, commandtest.Small("--report", page, "--trusted-report", tallies)...)
	}
	theirs := commandtest.Write(t, "thesis.html", "<!DOCTYPE html>\n<p>mine</p>\n")
	for flag, files := range map[string][]string{"--report": {theirs, tallies}, "--trusted-report": {theirs, page}} {
		for _, file := range files {
			before := contentsOf(t, file)
			code, stdout, stderr := tollgate(t, commandtest.Small(flag, file)...)
			if code != command.ExitError || stdout != "" || !strings.Contains(stderr, file+" exists and is not a") ||
				contentsOf(t, file) != before {
				t.Errorf("%s %s: exit %d, stderr %q", flag, file, code, stderr)
			}
		}
	}
}
