package commands

import "errors"

// The exit codes of doc.go.
const (
	exitOK     = 0
	exitError  = 1
	exitUsage  = 2
	exitConfig = 3
	exitLosses = 4
)

// codedError is an error that decides the exit code.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// usage marks an error that other flags would avoid.
func usage(err error) error { return coded(exitUsage, err) }

// contents marks an error in a configuration file.
func contents(err error) error { return coded(exitConfig, err) }

func coded(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code: code, err: err}
}

// exitCode returns the exit code of a command's error: exitError where it is not marked.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	var c *codedError
	if errors.As(err, &c) {
		return c.code
	}
	return exitError
}
