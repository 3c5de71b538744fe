package command

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/app/outcomes"
)

// The exit codes of doc.go.
const (
	ExitOK     = 0
	ExitError  = 1
	ExitUsage  = 2
	ExitConfig = 3
	ExitLosses = 4
	// Of an audit.
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

// Usage marks an error that other flags would avoid.
func Usage(err error) error { return Coded(ExitUsage, err) }

// Contents marks an error in a configuration file.
func Contents(err error) error { return Coded(ExitConfig, err) }

func Coded(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code: code, err: err}
}

// ExitCode returns the exit code of a command's error: exitError where it is not marked.
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

// RefuseLosses is loud about records that were lost before counting: where more than half of them
// were, it calls warn, or returns an error of exit code 4 with strict.
func RefuseLosses(l outcomes.Loss, strict bool, warn func()) error {
	switch {
	case !l.Most():
	case strict:
		return Coded(ExitLosses, fmt.Errorf("more than half of the records were lost before counting, which --strict "+
			"refuses: %s", l.Why()))
	default:
		warn()
	}
	return nil
}
