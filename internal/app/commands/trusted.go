package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tollgate-dp/tollgate/internal/app/outfile"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// report is the file of --trusted-report. It is opened before anything runs: a path that
// cannot be written is refused at once.
type report struct {
	path string
	file *outfile.File
}

// apart refuses one file for both reports: the exact tallies would replace the page that is
// made for publication.
func apart(page, trusted string) error {
	if page == "" || trusted == "" || !outfile.Same(page, trusted) {
		return nil
	}
	return usage(errors.New("--report and --trusted-report name the same file: one is public, the other is not; give each a file of its own"))
}

// namedFile is a file with what names it: a flag, or the configuration.
type namedFile struct{ by, path string }

// spared refuses outputs that are also read: what is read would be gone.
func spared(outputs []namedFile, inputs ...namedFile) error {
	for _, out := range outputs {
		for _, in := range inputs {
			if out.path != "" && in.path != "" && outfile.Same(out.path, in.path) {
				return usage(fmt.Errorf("%s would overwrite %s, which %s names: give it a file of its own", out.by, in.path, in.by))
			}
		}
	}
	return nil
}

// openReport refuses a path that cannot be written, also a file that is there and
// protected. The file is readable by its owner only: its contents are not for publication.
func openReport(path string) (*report, error) {
	fail := func(err error) (*report, error) {
		return nil, fmt.Errorf("opening --trusted-report: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fail(err)
		}
		file.Close()
	}
	file, err := outfile.Create(path, 0o600)
	if err != nil {
		return fail(err)
	}
	return &report{path: path, file: file}, nil
}

func (r *report) write(t pipeline.Tallies) error {
	encoder := json.NewEncoder(r.file)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(t)
	if err == nil {
		err = r.file.Commit()
	}
	if err != nil {
		return fmt.Errorf("writing --trusted-report %s: %w", r.path, err)
	}
	return nil
}

// discard removes what was not written to the end.
func (r *report) discard() {
	r.file.Discard() //nolint:errcheck // nothing more can be done
}
