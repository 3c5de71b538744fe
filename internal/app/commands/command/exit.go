package command

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// The exit codes, which tollgate.txt explains.
const (
	ExitOK     = 0
	ExitError  = 1
	ExitUsage  = 2
	ExitConfig = 3
	ExitLosses = 4
	// For an audit.
	ExitUnchecked = 5
	ExitDiffers   = 6
)

// codedError is an error that decides the exit code.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// Usage marks an error in the flags.
func Usage(err error) error { return Coded(ExitUsage, err) }

// Contents marks an error in the contents of a configuration file.
func Contents(err error) error { return Coded(ExitConfig, err) }

func Coded(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code: code, err: err}
}

// ExitCode returns the exit code for a command's error: ExitError if it is not marked.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	var c *codedError
	if errors.As(err, &c) {
		return c.code
	}
	return ExitError
}

// RefuseLosses notes, without numbers, that more than half of the records were lost before
// counting. With strict it returns an error with exit code 4 instead.
func RefuseLosses(l outcomes.Loss, strict bool, progress *terminal.Progress) error {
	text := "more than half of the records were lost before counting: " + l.Why()
	switch {
	case !l.Most():
	case strict:
		return Coded(ExitLosses, fmt.Errorf("%s; --strict refuses that", text))
	default:
		progress.Note("warning: %s", text)
	}
	return nil
}
