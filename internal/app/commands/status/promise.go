package status

import (
	"cmp"
	_ "embed"
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

//go:embed promise.txt
var promiseHelp string

func Promise(a *command.App) *cobra.Command {
	v := &view{App: a}
	return a.New("promise", promiseHelp, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &v.path)
		cli.FormatFlag(cmd, &v.format)
	}, func(cmd *cobra.Command) error {
		return show(cmd.Context(), v, config.Options{WithoutKeys: true, WithoutRegistries: true}, pipeline.ReadPromise,
			writePromises)
	})
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
		line("written", "%s by %s: %s", g.Written.Format(time.RFC3339),
			cmp.Or(terminal.Key(g.By, 60), "an unnamed person"), cmp.Or(terminal.Key(g.Why, 200), "no reason given"))
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
