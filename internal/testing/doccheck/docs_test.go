package doccheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

func TestDependenciesAreJustified(t *testing.T) {
	reasons := map[string]string{}
	row := regexp.MustCompile(`(?m)^\| ([a-z][^ |]*\.[^ |]*) \| (v[^ |]+) \| (.+) \|$`)
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/dependencies.md"), -1) {
		reasons[m[1]+" "+m[2]] = m[3]
	}
	requirement := regexp.MustCompile(`(?m)^(?:require |\t)(\S+\.\S+ v\S+)$`) // no "// indirect"
	required := requirement.FindAllStringSubmatch(read(t, "go.mod"), -1)
	if len(required) < 10 {
		t.Fatalf("found only %d requirements in go.mod", len(required))
	}
	for _, m := range required {
		if len(reasons[m[1]]) < 10 {
			t.Errorf("go.mod requires %s: docs/dependencies.md has no line with its reason", m[1])
		}
		delete(reasons, m[1])
	}
	for r := range reasons {
		t.Errorf("docs/dependencies.md has a line for %s, but go.mod does not require it directly", r)
	}
}

// A page explains every name that the first group of an expression finds in the code.
func TestPagesExplainWhatTheCodeNames(t *testing.T) {
	const flag, sentinel = `\.\w+Var\([^,]+, "([a-z-]+)"`, `(?m)^(?:var |\t)(Err[A-Z]\w*)(?:, Err\w+)* +=`
	for _, c := range []struct {
		dirs, expr, before, page string
		least                    int
	}{
		{`^cmd/experiments$`, flag, "`--", "docs/experiments.md", 3},
		{`^pipeline$`, sentinel, "`pipeline.", "docs/runbook.md", 5},
		{`^internal/base/kafka/kafkalog$`, sentinel, "`kafkalog.", "docs/runbook.md", 3},
		{`.`, `StopError\{[^}]*?Reason: +"([^",:;(]+[^",:;( ])`, "", "docs/runbook.md", 5},
	} {
		found, dirs, expr, page := 0, regexp.MustCompile(c.dirs), regexp.MustCompile(c.expr), read(t, c.page)
		for _, s := range sources(t) {
			if s.test || !dirs.MatchString(s.dir) {
				continue
			}
			for _, m := range expr.FindAllStringSubmatch(s.text, -1) {
				found++
				want := m[1]
				if c.before != "" {
					want = c.before + want + "`"
				}
				if !strings.Contains(page, want) {
					t.Errorf("%s does not explain %s (%s)", c.page, want, s.path)
				}
			}
		}
		if found < c.least {
			t.Errorf("found only %d of %s in %s", found, c.expr, c.dirs)
		}
	}
	runbook := read(t, "docs/runbook.md")
	for _, class := range event.Classes() {
		if !strings.Contains(runbook, "`"+class+"`") {
			t.Errorf("docs/runbook.md does not explain the class of dead letters `%s`", class)
		}
	}
	guarantee := read(t, "docs/guarantee.md")
	for _, k := range metrickind.All() {
		if !regexp.MustCompile("(?m)^\\| `?" + k.Name + "`? \\|").MatchString(guarantee) {
			t.Errorf("docs/guarantee.md does not say what one user moves of %s", k.Name)
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		body, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(body), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, m[1])
			}
		}
	}
}

func TestTheFilesToReadInADayExist(t *testing.T) {
	_, list, _ := strings.Cut(read(t, "docs/design-notes.md"), "\n```\nwc -l ")
	list, _, found := strings.Cut(list, "```")
	count := exec.CommandContext(t.Context(), "bash", "-c", "wc -l "+list)
	count.Dir = root
	if out, err := count.CombinedOutput(); err != nil || !found {
		t.Errorf("%v: %s", err, out)
	}
}
