package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/tollgate-dp/tollgate/internal/app/outfile"
)

// CheckOutput checks the file of a flag like --report before anything is read or charged. It
// returns an error for a path that cannot be written, and for an existing file of another kind. An
// empty path is valid.
func CheckOutput(flag, path string, perm os.FileMode, kind outfile.Kind) error {
	if path == "" {
		return nil
	}
	if err := outfile.Check(path, perm, kind); err != nil {
		return fmt.Errorf("opening %s: %w", flag, err)
	}
	return nil
}

// SaveOutput writes the file of a flag like --report, whole or not at all. It does nothing if path
// is empty.
func SaveOutput(flag, path string, perm os.FileMode, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	file, err := outfile.Create(path, perm)
	if err == nil {
		if err = write(file); err == nil {
			err = file.Commit()
		} else {
			file.Discard() //nolint:errcheck // the first error is more useful
		}
	}
	if err != nil {
		return fmt.Errorf("writing %s %s: %w", flag, path, err)
	}
	return nil
}
