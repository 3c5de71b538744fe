package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/tollgate-dp/tollgate/internal/app/outfile"
)

// CheckReport refuses a page of --report that cannot be written, before anything is read or
// charged. An empty path is no page.
func CheckReport(path string, perm os.FileMode) error {
	info, err := os.Stat(path)
	if path == "" || err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil // to open a pipe is to wait for its reader
	}
	file, err := outfile.Create(path, perm)
	if err == nil {
		err = file.Discard()
	}
	if err != nil {
		return fmt.Errorf("opening --report: %w", err)
	}
	return nil
}

// SaveReport writes the page of --report, whole or not at all. An empty path is no page.
func SaveReport(path string, perm os.FileMode, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	file, err := outfile.Create(path, perm)
	if err == nil {
		if err = write(file); err == nil {
			err = file.Commit()
		} else {
			file.Discard() //nolint:errcheck // the first error says more
		}
	}
	if err != nil {
		return fmt.Errorf("writing --report %s: %w", path, err)
	}
	return nil
}
