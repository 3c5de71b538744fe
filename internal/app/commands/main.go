package commands

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
)

// Main runs the command line of this process and returns its exit code. It calls exit only where a
// further signal ends the process at once.
func Main(r command.Release, exit func(code int)) int {
	// Libraries that log to the default logger may write a key or a count. Our own
	// packages log to loggers that they are given.
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	a := &command.App{Stdout: os.Stdout, Stderr: cli.OwnStderr(), Getenv: os.Getenv, Variables: config.Process().Names,
		Release: r, Exit: func() { exit(command.ExitError) }}
	return command.Execute(context.Background(), a, rootCommand, os.Args[1:])
}
