// Package audit implements the command that recomputes a deployment and compares its topics.
package audit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/audit"
	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

var (
	//go:embed audit.txt
	help string
	//go:embed audit_output.txt
	output string
)

func Command(a *command.App) *cobra.Command {
	var (
		path string
		past []string
		f    cli.Format
	)
	return a.New("audit", help, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &path)
		cmd.Flags().StringArrayVar(&past, "past", nil, "")
		cli.FormatFlag(cmd, &f)
	}, func(cmd *cobra.Command) error { return run(cmd.Context(), a, path, past, f) })
}

func run(ctx context.Context, a *command.App, path string, past []string, f cli.Format) error {
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
		Progress: func(percent uint64) { progress.Note("%d%% of the turns after %s", percent, progress.Elapsed()) },
	})
	progress.Flush()
	if err != nil {
		return d.Explained(withDifferences(ctx, d.Deployment, err))
	}
	if err := a.PrintText(f, r, command.Template(output), r); err != nil {
		return err
	}
	return verdict(r)
}

// withDifferences completes the error for a configuration that is not in force: it adds the
// settings that differ, and the remedy.
func withDifferences(ctx context.Context, d *pipeline.Deployment, err error) error {
	var begun *pipeline.InitialisedError
	if !errors.Is(err, pipeline.ErrHeaderMismatch) || !errors.As(pipeline.Initialised(ctx, d), &begun) {
		return err
	}
	var all []string
	for _, one := range begun.Differences {
		all = append(all, one.What+one.Detail())
	}
	if len(all) == 0 { // a configuration given with --past is wrong
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
			errors.New("auditing: nothing differs, but not everything could be checked"))
	}
	return nil
}
