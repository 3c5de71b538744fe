package commands

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// madeByPages are the files that a reader of README and the tutorial makes in this directory.
var madeByPages = regexp.MustCompile(`(?m)\{file: ([\w.-]+)\}|^# ([\w.-]+\.yaml)$|--report ([\w.-]+)|^ *\}\' > ([\w.-]+)$|go build -o ([\w-]+) `)

// A reader who does what README and the tutorial say has nothing to commit by mistake: least of all
// a key.
func TestGitIgnoresWhatThePagesHaveMade(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	if exec.Command("git", "-C", root, "rev-parse").Run() != nil {
		t.Skip("this is no work tree of git")
	}
	made := map[string]bool{"user-hash.key.deployments": true}
	for _, page := range []string{"README.md", "docs/tutorial.md"} {
		for _, groups := range madeByPages.FindAllStringSubmatch(contentsOf(t, filepath.Join(root, page)), -1) {
			for _, name := range groups[1:] {
				if name != "" {
					made[name] = true
				}
			}
		}
	}
	for _, name := range []string{"noise.key", "user-hash.key", "tollgate.yaml", "page.html", "visits.jsonl", "tollgate"} {
		if !made[name] {
			t.Errorf("the pages have no %s: the test no longer sees what they have made", name)
		}
	}
	for name := range made {
		err := exec.Command("git", "-C", root, "check-ignore", "-q", "--no-index", name).Run()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
			t.Errorf("git does not ignore %s", name)
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
