package eventfile

import (
	"fmt"
	"os"
)

// Stdin is the path of the standard input.
const Stdin = "-"

// OpenFile opens the file at path, or returns the standard input.
func OpenFile(path string) (*os.File, error) {
	if path == Stdin {
		return os.Stdin, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening input file: %w", err)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close() //nolint:errcheck // nothing was read
		return nil, fmt.Errorf("opening input file: %s is a directory: give a single file", path)
	}
	return file, nil
}

// Name returns the name that messages use for the file at path.
func Name(path string) string {
	if path == Stdin {
		return "standard input"
	}
	return path
}
