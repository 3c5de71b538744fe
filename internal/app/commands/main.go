package commands

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/config"
)

// Release is the version and the revision of a released binary; empty in all others.
type Release struct{ Version, Revision string }

// Main runs the command line of this process and returns its exit code. It calls exit only where a
// further signal ends the process at once.
func Main(r Release, exit func(code int)) int {
	// Libraries that log to the default logger may write a key or a count. Our own
	// packages log to loggers that they are given.
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	a := app{stdout: os.Stdout, stderr: cli.OwnStderr(), getenv: os.Getenv, variables: config.Process().Names, release: r, exit: func() { exit(exitError) }}
	return a.execute(context.Background(), os.Args[1:])
}
