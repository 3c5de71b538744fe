package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/outfile"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// Apart refuses one file for both reports: the exact tallies would replace the page that is
// made for publication.
func Apart(page, trusted string) error {
	if page == "" || trusted == "" || !outfile.Same(page, trusted) {
		return nil
	}
	return Usage(errors.New("--report and --trusted-report name the same file: one is public, the other is not; give " +
		"each a file of its own"))
}

// NamedFile is a file with what names it: a flag, or the configuration.
type NamedFile struct{ By, Path string }

// Spared refuses outputs that are also read: what is read would be gone.
func Spared(outputs []NamedFile, inputs ...NamedFile) error {
	for _, out := range outputs {
		for _, in := range inputs {
			if out.Path != "" && in.Path != "" && outfile.Same(out.Path, in.Path) {
				return Usage(fmt.Errorf("%s would overwrite %s, which %s names: give it a file of its own", out.By,
					in.Path, in.By))
			}
		}
	}
	return nil
}

// tallies are the kind of file that a trusted report is.
type tallies struct{}

var talliesHead = regexp.MustCompile(`^\{\s*"read":\s*\d+,\s*"dead_lettered":`)

func (tallies) String() string         { return "a trusted report of tollgate" }
func (tallies) Wrote(head []byte) bool { return talliesHead.Match(head) }

// CheckTrusted refuses a path of --trusted-report that cannot be written, also a file that is there
// and protected, before anything runs.
func CheckTrusted(path string) error {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("opening --trusted-report: %w", err)
		}
		file.Close()
	}
	return cli.CheckOutput("--trusted-report", path, 0o600, tallies{})
}

// SaveTrusted writes the file of --trusted-report, readable by its owner only: it is not for
// publication. An empty path is no file.
func SaveTrusted(path string, t pipeline.Tallies) error {
	return cli.SaveOutput("--trusted-report", path, 0o600, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(t)
	})
}
