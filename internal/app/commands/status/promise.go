package status

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/pipeline"
)

func Promise(c *command.App) *cobra.Command {
	a := &app{c}
	var (
		path string
		f    cli.Format
	)
	cmd := &cobra.Command{
		Use:   "promise",
		Short: "Show every promise that the deployment has made, who changed it, and why",
		Long: `Show every promise that the deployment has made, from the first to the one in force:
its budget and metrics, when it began, who made it and why (--by and --why of change
and init), and its digest. The digest covers all promises up to this one, so a reader
of the counts who keeps the digest notices if any of them is changed later. promise only
reads, so a run need not end. It needs no key, and the output names none.`,
		Example: "  tollgate promise --config tollgate.yaml --format json",
		Args:    command.NoArguments("--config"),
	}
	cmd.Flags().SortFlags = false
	a.ConfigPath(cmd, &path)
	cli.FormatFlag(cmd, &f)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error { return a.runPromise(cmd.Context(), path, f) })
	return cmd
}

func (a *app) runPromise(ctx context.Context, path string, f cli.Format) error {
	d, err := a.Reach(ctx, path, config.Options{WithoutKeys: true, WithoutRegistries: true})
	if err != nil {
		return err
	}
	all, err := pipeline.ReadPromise(ctx, d.Deployment)
	if err != nil {
		return d.Explained(err)
	}
	return a.PrintAs(f, all, func(b *strings.Builder) { writePromises(b, all) })
}

// writePromises writes the generations of a promise for people.
func writePromises(b *strings.Builder, all []pipeline.PromiseGeneration) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	for i := range all {
		g := &all[i]
		if i > 0 {
			fmt.Fprintln(b)
		}
		line("generation", "%d, for events from %s on", g.Generation, g.From.Format(time.RFC3339))
		line("written", "%s by %s: %s", g.Written.Format(time.RFC3339), cmp.Or(terminal.Key(g.By, 60), "nobody named"),
			cmp.Or(terminal.Key(g.Why, 200), "no reason given"))
		unit := "for ever"
		if period, err := time.ParseDuration(g.Period); err == nil {
			unit = "in each period of " + timespan.Text(period)
		}
		line("promise", "(%s, %s)-differential privacy of each user, %s; δ for private keys %s",
			words.Digits(g.Epsilon), words.Digits(g.Delta), unit, words.Digits(g.DeltaKeys))
		for _, m := range g.Metrics {
			window := timespan.Text(m.Window)
			if m.Slide != m.Window {
				window += " every " + timespan.Text(m.Slide)
			}
			line("metric", "%s: %s in windows of %s, keys %s", terminal.Key(m.Name, 40), m.Kind, window, m.Keys)
		}
		for _, change := range g.Changes {
			line("changed", "%s", change)
		}
		line("digest", "%s", g.Digest)
	}
}
