package status

import (
	"cmp"
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

func Promise(a *command.App) *cobra.Command {
	v := &view{App: a}
	cmd := &cobra.Command{
		Use:   "promise",
		Short: "Show every promise that the deployment has made, who changed it, and why",
		Long: `Show every promise that the deployment has made: its budget and metrics, when it began,
who made it and why, and its digest. The digest covers all promises up to this one, so
whoever keeps it notices if any of them is changed later. promise only reads, so a run
need not end. It needs no key, and the output names none.`,
		Example: "  tollgate promise --config tollgate.yaml --format json",
		Args:    command.NoArguments("--config"),
	}
	cmd.Flags().SortFlags = false
	a.ConfigPath(cmd, &v.path)
	cli.FormatFlag(cmd, &v.format)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		return show(cmd.Context(), v, config.Options{WithoutKeys: true, WithoutRegistries: true}, pipeline.ReadPromise,
			writePromises)
	})
	return cmd
}

// writePromises writes the generations of a promise for people.
func writePromises(b *strings.Builder, all []pipeline.PromiseGeneration) {
	line := command.Lines(b, 10)
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
