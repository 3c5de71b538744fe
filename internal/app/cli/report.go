package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/tollgate-dp/tollgate/internal/app/outfile"
)

// CheckOutput refuses a file of a flag like --report that cannot be written, and an existing file
// of another kind, before anything is read or charged. An empty path is no file.
func CheckOutput(flag, path string, perm os.FileMode, kind outfile.Kind) error {
	if path == "" {
		return nil
	}
	if err := outfile.Check(path, perm, kind); err != nil {
		return fmt.Errorf("opening %s: %w", flag, err)
	}
	return nil
}

// SaveOutput writes the file of a flag like --report, whole or not at all. An empty path is no
// file.
func SaveOutput(flag, path string, perm os.FileMode, write func(io.Writer) error) error {
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
		return fmt.Errorf("writing %s %s: %w", flag, path, err)
	}
	return nil
}
