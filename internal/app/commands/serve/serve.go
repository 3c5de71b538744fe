// Package serve implements the command that shows released values over HTTP, and probe, which asks
// a listening process whether it is ready.
package serve

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/serve"
)

// serveFlags are the flags of serve as they were given.
type serveFlags struct {
	config, listen, title string
	keep, clients         int
	refresh               time.Duration
}

//go:embed serve.txt
var serveHelp string

func Command(a *command.App) *cobra.Command {
	f := &serveFlags{}
	cmd := a.New("serve", serveHelp, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &f.config)
		flags := cmd.Flags()
		flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "")
		flags.StringVar(&f.title, "title", "", "")
		flags.IntVar(&f.keep, "keep", 500, "")
		flags.IntVar(&f.clients, "max-clients", 1000, "")
		command.DurationFlag(flags, &f.refresh, "refresh", 5*time.Second, "")
	}, func(cmd *cobra.Command) error { return runServe(cmd.Context(), a, f) })
	a.LogFlag(cmd)
	return cmd
}

func (f *serveFlags) check() error {
	switch {
	case f.keep < 1:
		return command.Must("keep", "at least 1")
	case f.clients < 1:
		return command.Must("max-clients", "at least 1")
	case f.refresh < 100*time.Millisecond:
		return command.Must("refresh", "at least 100ms")
	}
	return nil
}

func runServe(ctx context.Context, a *command.App, f *serveFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	d, err := a.Load(f.config, config.Options{WithoutKeys: true, WithoutRegistries: true})
	if err != nil {
		return err
	}
	l, err := command.Listen(f.listen)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := a.Logger(a.Stderr, slog.LevelInfo)
	log.Info(fmt.Sprintf("serving http://%s/ with the values of topic %s", l.Addr(), d.Config.Outputs.Counts))
	return d.Explained(serve.Run(ctx, d.Deployment, l, serve.Options{Title: f.title, Keep: f.keep, Clients: f.clients,
		Refresh: f.refresh, Logger: log}))
}
