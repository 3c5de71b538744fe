package doccheck

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Only programs (package main, and the experiments' Must) and tests (package must) may end the
// process; libraries return errors.
func TestLibrariesNeverEndTheProcess(t *testing.T) {
	ending := regexp.MustCompile(`\b(panic|os\.Exit|runtime\.Goexit|log\.(Fatal|Panic)\w*)\(`)
	programs := []string{"internal/testing/must", "internal/app/experiment"}
	for _, s := range sources(t) {
		if s.test || s.file.Name.Name == "main" || slices.Contains(programs, s.dir) {
			continue
		}
		for n, line := range strings.Split(s.text, "\n") {
			code, _, _ := strings.Cut(line, "//")
			if call := ending.FindString(code); call != "" {
				t.Errorf("%s:%d: %s): a library returns an error", s.path, n+1, call)
			}
		}
	}
}

// A random test that ignores TOLLGATE_SEED draws the same cases in every run of .ci/run.
func TestRandomTestsDrawFromTheSeedOfTheRun(t *testing.T) {
	ownSource := regexp.MustCompile(`\brand\.(NewPCG|NewChaCha8|NewSource|Seed|Int|Uint|N\(|Float|Perm|Shuffle)`)
	draws, seeded, sites := map[string]bool{}, map[string]bool{}, 0
	for _, s := range sources(t) {
		if s.dir == "internal/testing/runseed" {
			continue
		}
		for _, i := range s.file.Imports {
			draws[s.dir] = draws[s.dir] || i.Path.Value == `"pgregory.net/rapid"`
			seeded[s.dir] = seeded[s.dir] || strings.HasSuffix(i.Path.Value, `/internal/testing/runseed"`)
		}
		if !s.test {
			continue
		}
		for n, line := range strings.Split(s.text, "\n") {
			sites += strings.Count(line, "runseed.")
			if ownSource.MatchString(line) && !strings.Contains(line, "runseed.") &&
				!strings.Contains(line, " // fixed seed: ") {
				t.Errorf("%s:%d: use runseed.PCG, or say on the line why the seed never changes: // fixed seed: WHY",
					s.path, n+1)
			}
		}
	}
	if sites < 20 {
		t.Fatalf("found only %d draws: the test searches the wrong files", sites)
	}
	for dir := range draws {
		if draws[dir] && !seeded[dir] {
			t.Errorf("%s: a test file must import internal/testing/runseed", dir)
		}
	}
}
