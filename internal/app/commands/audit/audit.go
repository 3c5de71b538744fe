// Package audit has the command that recomputes a deployment.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/audit"
	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// app is what the command uses of the world outside.
type app struct{ *command.App }

// shownDifferences is how many differences the text has.
const shownDifferences = 20

func Command(c *command.App) *cobra.Command {
	a := &app{c}
	var (
		path string
		past []string
		f    cli.Format
	)
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Recompute the whole deployment and compare it with its topics",
		Long: `Recompute the whole deployment from its events and keys, up to the last settled turn,
and compare: which records belong to each turn, which users were admitted with which
amounts, every precision and threshold, every published byte, and every account in a
snapshot. The computation shares only the formats and the noise sampler with a run.

audit only reads, so a run need not end. It needs both keys. It names users by the
first digits of their keyed hash, and only keys that were released. Data that is
deleted is taken from the ledger, or reported as unchecked.

The exit code is 0 if everything was checked and nothing differs, 5 if nothing differs
and something could not be checked, and 6 if something differs.`,
		Example: `  tollgate audit --config tollgate.yaml
  tollgate audit --config tollgate.yaml --past tollgate-2025.yaml --format json`,
		Args: command.NoArguments("--config"),
	}
	cmd.Flags().SortFlags = false
	a.ConfigPath(cmd, &path)
	cmd.Flags().StringArrayVar(&past, "past", nil, "configuration file of an earlier generation, with its keys; may "+
		"be repeated")
	cli.FormatFlag(cmd, &f)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error { return a.run(cmd.Context(), path, past, f) })
	return cmd
}

func (a *app) run(ctx context.Context, path string, past []string, f cli.Format) error {
	d, err := a.Reach(ctx, path, config.Options{})
	if err != nil {
		return err
	}
	var earlier []*deployment.Deployment
	for _, path := range past {
		one, err := a.Load(path, config.Options{})
		if errors.Is(err, fs.ErrNotExist) {
			return command.Usage(fmt.Errorf("reading --past: there is no file %s", path))
		}
		if err != nil {
			return err
		}
		earlier = append(earlier, one.Deployment)
	}
	progress := a.Progress()
	r, err := audit.Run(ctx, d.Deployment, audit.Options{
		Past: earlier, Logger: a.Checking(false).Logger,
		Progress: func(percent uint64) { progress.Note("%d %% of the turns after %s", percent, progress.Elapsed()) },
	})
	progress.Flush()
	if err != nil {
		return d.Explained(withDifferences(ctx, d.Deployment, err))
	}
	if err := a.PrintAs(f, r, func(b *strings.Builder) { write(b, r) }); err != nil {
		return err
	}
	return verdict(r)
}

// withDifferences adds to the error of a configuration that is not in force the settings in which
// it differs, and the remedy.
func withDifferences(ctx context.Context, d *pipeline.Deployment, err error) error {
	var begun *pipeline.InitialisedError
	if !errors.Is(err, pipeline.ErrHeaderMismatch) || !errors.As(pipeline.Initialised(ctx, d), &begun) {
		return err
	}
	var all []string
	for _, one := range begun.Differences {
		all = append(all, one.What+one.Detail())
	}
	if len(all) == 0 { // a configuration of --past is wrong
		return err
	}
	return fmt.Errorf("%w: %s: restore the values in force, or put yours in force with tollgate change", err,
		strings.Join(all, ", "))
}

// verdict returns the error whose exit code tells scripts what an audit found.
func verdict(r *audit.Report) error {
	switch {
	case r.Differs > 0:
		return command.Coded(command.ExitDiffers, fmt.Errorf("auditing: %s", terminal.Count(r.Differs, "difference")))
	case len(r.Unchecked) > 0:
		return command.Coded(command.ExitUnchecked,
			errors.New("auditing: nothing differs, and not everything could be checked"))
	}
	return nil
}

// write writes a report for people. An error has its result unless everything was checked.
func write(b *strings.Builder, r *audit.Report) {
	line := command.Lines(b, 10)
	line("deployment", "%s, incarnation %s", terminal.Key(r.Deployment, 60), r.Incarnation)
	line("checked", "%s of %s: %s and %s are equal", terminal.Count(int(r.Turns), "settled turn"),
		terminal.Count(r.Generations, "generation"), terminal.Count(r.Values, "value"),
		terminal.Count(r.Snapshots, "snapshot"))
	for _, u := range r.Unchecked {
		line("unchecked", "%s%s", turns(u.From, u.To), u.What)
	}
	for _, d := range r.Differences[:min(len(r.Differences), shownDifferences)] {
		where := turns(d.Turn, d.Turn) + d.What
		if d.Metric != "" {
			where += ": " + terminal.Key(d.Metric, 40)
		}
		if d.Window != nil {
			where += ", window of " + d.Window.Format(time.RFC3339)
		}
		if d.Key != nil {
			where += ", key " + terminal.Key(*d.Key, 60)
		}
		if d.User != "" {
			where += ", user " + d.User
		}
		line("differs", "%s", where)
	}
	switch {
	case r.Differs > shownDifferences:
		line("shown", "the first %d differences; --format json has more", shownDifferences)
	case !r.Whole():
	case r.Turns == 0:
		line("result", "no turn is settled yet: there is nothing to check")
	default:
		line("result", "everything was checked, nothing differs")
	}
}

func turns(from, to uint64) string {
	switch {
	case from == 0:
		return ""
	case from == to:
		return fmt.Sprintf("turn %d: ", from)
	}
	return fmt.Sprintf("turns %d to %d: ", from, to)
}
