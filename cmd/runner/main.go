package main

import (
	"context"
	"io"
	"log/slog"
	"os"
)

func main() {
	// Libraries that log to the default logger may have a key or a count in
	// their lines. What there is to say goes through loggers that are handed on.
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	a := app{stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	os.Exit(a.execute(context.Background(), os.Args[1:]))
}
