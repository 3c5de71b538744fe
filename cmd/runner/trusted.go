package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"os"
	"path/filepath"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// report is the file of --trusted-report: opened before anything runs, so that
// nothing is computed in vain, and put in place whole or not at all.
type report struct {
	path string
	file *os.File
	temp bool // file is to be renamed to path
}

// apart refuses one file for both reports: the exact tallies would take the place of
// the page that everybody may see.
func apart(page, trusted string) error {
	if page == "" || trusted == "" || !sameFile(page, trusted) {
		return nil
	}
	return usage(errors.New("--report and --trusted-report name the same file: one is public, the other is not; give each a file of its own"))
}

// sameFile says whether two paths lead to one file, also to one that is not there yet.
func sameFile(a, b string) bool {
	at, errA := os.Stat(a)
	other, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(at, other)
	}
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	at, errA = os.Stat(filepath.Dir(a))
	other, errB = os.Stat(filepath.Dir(b))
	return filepath.Clean(a) == filepath.Clean(b) || errA == nil && errB == nil && os.SameFile(at, other)
}

// openReport refuses a path that cannot be written. The file is readable by its
// owner only: what it holds is not for publication.
func openReport(path string) (*report, error) {
	fail := func(err error) (*report, error) {
		return nil, fmt.Errorf("opening --trusted-report (name a file in a directory that can be written): %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fail(fmt.Errorf("%s is a directory", path))
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fail(err)
		}
		return &report{path: path, file: file}, nil
	case err == nil:
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fail(err)
		}
		file.Close()
	case !errors.Is(err, os.ErrNotExist):
		return fail(err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".trusted-report-*")
	if err != nil {
		return fail(err)
	}
	return &report{path: path, file: file, temp: true}, nil
}

func (r *report) write(t pipeline.Tallies) error {
	encoder := json.NewEncoder(r.file)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(t)
	if err == nil && r.temp {
		err = r.file.Sync()
	}
	if closed := r.file.Close(); err == nil {
		err = closed
	}
	if err == nil && r.temp {
		err = os.Rename(r.file.Name(), r.path)
		r.temp = err != nil
	}
	if err != nil {
		return fmt.Errorf("writing --trusted-report %s: %w", r.path, err)
	}
	return nil
}

// discard removes what was not written to the end.
func (r *report) discard() {
	r.file.Close()
	if r.temp {
		os.Remove(r.file.Name()) //nolint:errcheck // nothing more can be done
	}
}
