package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/config"
)

func main() {
	// Libraries that log to the default logger may write a key or a count. Our own
	// packages log to loggers that they are given.
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	a := app{stdout: os.Stdout, stderr: cli.OwnStderr(), getenv: os.Getenv, variables: config.Process().Names}
	os.Exit(a.execute(context.Background(), os.Args[1:]))
}
