package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// ReadSmall reads a file of at most limit bytes, such as a key, a password or a list of keys. It
// drops a byte order mark. Errors name the file but do not show its contents.
func ReadSmall(path string, limit int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(text)) > limit {
		return "", &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf(
			"the file is too long: at most %d bytes are allowed", limit)}
	}
	return strings.TrimPrefix(string(text), "\uFEFF"), nil
}

// Lines returns the lines of a text without their terminators. The result includes empty lines.
func Lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimRight(line, "\r\n"))
	}
	return out
}

// cause removes the path from an error of ReadSmall, for a caller that names the file itself.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
