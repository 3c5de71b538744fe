// Package serve has the command that shows released values over HTTP, and probe, which asks a
// process that listens whether it is ready.
package serve

import (
	"context"
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

// app is what the commands of this package use of the world outside.
type app struct{ *command.App }

// serveFlags are the flags of serve as they were given.
type serveFlags struct {
	config, listen, title string
	keep, clients         int
	refresh               time.Duration
}

func Command(c *command.App) *cobra.Command {
	a := &app{c}
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show released values to the public: a live page and a JSON API",
		Long: `Serve the published values of a deployment over HTTP, in a process of its own. The
page has charts and tables, and shows new values as they are published. The JSON API
has /v1/releases, /v1/shares and /v1/metrics; /openapi.yaml describes it. For operators
there are /-/healthy, /-/ready and /metrics.

serve reads only the counts topic and the topic with the ends of turns, so its Kafka
user needs to read only these two. It needs no keys: it reads neither key files nor
files with a registry's password, and starts without them. It waits for brokers,
topics and values; /-/ready says why it is not ready.

serve speaks plain HTTP. Put a proxy in front that does TLS, limits each client, and
passes on only what the public may see (/, /v1/ and /openapi.yaml). SIGINT or SIGTERM
ends it.`,
		Example: `  tollgate serve --config tollgate.yaml
  tollgate serve --config tollgate.yaml --listen 0.0.0.0:8080 --title "Visits of our site"`,
		Args: command.NoArguments("--config"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	a.ConfigPath(cmd, &f.config)
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address and port to listen on; 0.0.0.0:8080 for all "+
		"addresses of this machine")
	flags.StringVar(&f.title, "title", "", "title of the page (default: the deployment's name)")
	flags.IntVar(&f.keep, "keep", 500, "how many windows of each metric serve keeps and shows: the newest ones")
	flags.IntVar(&f.clients, "max-clients", 1000, "how many connections serve accepts at once; it refuses more")
	command.DurationFlag(flags, &f.refresh, "refresh", 5*time.Second, "how often, about, an open page asks for new "+
		"values")
	cmd.RunE = a.Run(func(cmd *cobra.Command) error { return a.runServe(cmd.Context(), f) })
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

func (a *app) runServe(ctx context.Context, f *serveFlags) error {
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
