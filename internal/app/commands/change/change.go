// Package change implements the command that puts a changed configuration in force.
package change

import (
	"context"
	_ "embed"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// options are the flags of change as they were given.
type options struct {
	config       string
	dryRun, now  bool
	by, why      string
	createTopics bool
	replication  int
	generateKeys bool
	format       cli.Format
}

var (
	//go:embed change.txt
	help string
	//go:embed change_output.txt
	output string
)

func Command(a *command.App) *cobra.Command {
	f := &options{}
	return a.New("change", help, func(cmd *cobra.Command) {
		flags := cmd.Flags()
		a.ConfigPath(cmd, &f.config)
		flags.BoolVar(&f.dryRun, "dry-run", false, "")
		flags.StringVar(&f.by, "by", "", "")
		flags.StringVar(&f.why, "why", "", "")
		flags.BoolVar(&f.now, "now", false, "")
		flags.BoolVar(&f.createTopics, "create-topics", false, "")
		flags.IntVar(&f.replication, "replication", 0, "")
		flags.BoolVar(&f.generateKeys, "generate-keys", false, "")
		cli.FormatFlag(cmd, &f.format)
	}, func(cmd *cobra.Command) error { return change(cmd.Context(), a, f) })
}

func change(ctx context.Context, a *command.App, f *options) error {
	switch {
	case f.dryRun && (f.createTopics || f.generateKeys):
		return command.Usage(errors.New("--dry-run creates nothing: leave out --create-topics and --generate-keys"))
	case !f.dryRun && (f.by == "" || f.why == ""):
		return command.Usage(errors.New("give --by and --why: tollgate promise shows who changed it, and why"))
	case f.replication != 0 && !f.createTopics:
		return command.Usage(errors.New("--replication is only used with --create-topics"))
	case f.replication < 0 || f.replication > 1<<15-1:
		return command.Must("replication", "from 1 to %d", 1<<15-1)
	}
	d, err := a.Prepare(f.config, f.generateKeys)
	if err != nil {
		return err
	}
	if err := a.WarnAbout(d, false, true); err != nil {
		return err
	}
	o := pipeline.ChangeOptions{
		DryRun: f.dryRun, Now: f.now, By: f.by, Why: f.why, Logger: a.Checking(false).Logger,
	}
	if f.createTopics {
		o.MakeTopics = func(ctx context.Context) error {
			return a.CreateTopics(ctx, d, pipeline.TopicOptions{Replication: f.replication})
		}
	}
	if err := a.AwaitAnswer(ctx, d.Config.Kafka); err != nil {
		return d.Explained(err)
	}
	result, err := pipeline.Change(ctx, d.Deployment, o)
	if err != nil {
		return d.Explained(err)
	}
	return a.PrintText(f.format, result, command.Template(output), changeText{&result, f.dryRun, f.config,
		command.Backups(d.File)})
}
