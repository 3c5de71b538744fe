// Package change implements the command that puts a changed configuration in force.
package change

import (
	"context"
	"errors"
	"strings"

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

func Command(a *command.App) *cobra.Command {
	f := &options{}
	cmd := &cobra.Command{
		Use:   "change",
		Short: "Change a deployment between two runs: metrics, bounds, keys, shards",
		Long: `Put a changed configuration in force after the last settled turn, as a new generation
on the control topic; every later run uses it. First end the run (SIGTERM): no turn
may be open. Accounts stay as they are, and the promise never becomes weaker.

While windows are open, change refuses and names the time when all of them end: run the
old configuration with --until that time, then change. With --now it gives up the open
windows: they are never released, and no user pays for them.

You can add and remove metrics; change bounds, ladders, targets, public keys,
lateness, the noise key and the ledger slots; lower the budget; change the number of
shards together with the name of the ledger topic; and change the number of release
shards together with the name of the counts topic. A metric's name always keeps its
meaning. Metrics with private keys need privacy.delta_keys from the start. The user-hash
key can be replaced only at the start of a budget period, and with a new ledger topic.
To rotate the noise key, name a new one under keys.noise with a new id.

--dry-run shows, even during a run, every field that differs, and how accurate each
metric's counts were and would be.`,
		Example: `  tollgate change --config tollgate.yaml --dry-run
  tollgate change --config tollgate.yaml --by Ada --why "ticket 1234: counts by country"`,
		Args: command.NoArguments("--config"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	a.ConfigPath(cmd, &f.config)
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would change, and change nothing")
	flags.StringVar(&f.by, "by", "", "who makes the change, for tollgate promise; needed unless --dry-run")
	flags.StringVar(&f.why, "why", "", "the reason, or where it is written down; needed unless --dry-run")
	flags.BoolVar(&f.now, "now", false, "give up the windows that are open")
	flags.BoolVar(&f.createTopics, "create-topics", false, "create the deployment's topics that do not exist")
	flags.IntVar(&f.replication, "replication", 0, "with --create-topics: replicas of each partition (default: the "+
		"brokers' setting)")
	flags.BoolVar(&f.generateKeys, "generate-keys", false, "create the key files that do not exist")
	cli.FormatFlag(cmd, &f.format)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error { return change(cmd.Context(), a, f) })
	return cmd
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
	return a.PrintAs(f.format, result, func(b *strings.Builder) { write(b, &result, f.dryRun, f.config, d.File) })
}
