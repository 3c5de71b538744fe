package commands

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// README's commands for a reader's own file work unchanged in a fresh clone, and show something
// useful: the noise of half of the values is within a half. The demo chooses with noise, so the
// number of values differs from run to run.
func TestReadmesFileGivesUsefulValues(t *testing.T) {
	t.Parallel()
	long.Test(t)
	const root = "../../.."
	ran := 0
	for _, block := range fenced.FindAllStringSubmatch(contentsOf(t, filepath.Join(root, "README.md")), -1) {
		for _, line := range shownIn("README.md", block[1], true) {
			if !strings.Contains(line.line, "--input docs/") {
				continue
			}
			ran++
			args := strings.Fields(strings.ReplaceAll(line.line, "--input docs/", "--input "+root+"/docs/"))
			if args[0] != "demo" {
				if stdout, _ := mustRun(t, args...); !strings.Contains(stdout, "target: {") {
					t.Errorf("%s prints no setting: %s", line.line, stdout)
				}
				continue
			}
			stdout, _ := mustRun(t, append(args, "--format", "json")...)
			var off []float64
			for _, r := range commandtest.Parse(t, stdout) {
				off = append(off, (r.High-r.Low)/2/r.Value)
			}
			slices.Sort(off)
			if len(off) == 0 || off[len(off)/2] > 0.5 {
				t.Errorf("%s: %d values, relative noise %.2f", line.line, len(off), off)
			}
		}
	}
	if ran != 2 {
		t.Errorf("README has %d commands on its file, want demo and plan", ran)
	}
}
