// Package change has the command that puts a changed configuration in force.
package change

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// app is what the commands of this package use of the world outside.
type app struct{ *command.App }

// changeFlags are the flags of change as they were given.
type changeFlags struct {
	config       string
	dryRun, now  bool
	by, why      string
	createTopics bool
	replication  int
	generateKeys bool
	format       cli.Format
}

func Command(c *command.App) *cobra.Command {
	a := &app{c}
	f := &changeFlags{}
	cmd := &cobra.Command{
		Use:   "change",
		Short: "Change a deployment between two runs: metrics, bounds, keys, shards",
		Long: `Put a changed configuration in force after the last settled turn, as a new generation
on the control topic; every later run uses it. First end the run (SIGTERM): no turn
may be open. Accounts stay as they are.

No window reaches over a change. While windows are open, change refuses and says when
all of them end: run the old configuration with --until that time, then change. With
--now it gives up the open windows and names their metrics. These windows are never
released, and no user pays for them.

You can add and remove metrics; change bounds, ladders, targets, public keys,
lateness, the noise key and the ledger slots; lower the budget; change the number of
shards together with the name of the ledger topic; and change the number of release
shards together with the name of the counts topic.

The promise never becomes weaker. A metric's name always means the same: to count
something else, use another name. You can add metrics with private keys only if
privacy.delta_keys was reserved from the start; this part of delta stays reserved if
you remove them. You cannot change the accountant, the period or the record's user field.
Another user-hash key can begin only with a budget period and a new ledger topic.

To rotate the noise key, name a new one under keys.noise with a new id. After the
change no turn needs the old key any more, and you can destroy it.

--by and --why are recorded for good: tollgate promise shows who changed the promise,
when and why.

--dry-run shows what would change, also during a run: every field that differs, with
its value in force and in the file. For every metric that this affects, it shows how
exact the counts were and would be, and how many windows a whole budget pays for. If a
turn is unfinished, it names the turn: the change must wait until a run has settled it.`,
		Example: `  tollgate change --config tollgate.yaml --dry-run
  tollgate change --config tollgate.yaml --by Ada --why "ticket 1234: counts by country"`,
		Args: command.NoArguments("--config"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	a.ConfigPath(cmd, &f.config)
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would change, and change nothing")
	flags.StringVar(&f.by, "by", "", "who makes the change; needed unless --dry-run")
	flags.StringVar(&f.why, "why", "", "the reason, or where it is written down; needed unless --dry-run")
	flags.BoolVar(&f.now, "now", false, "give up the windows that are open")
	flags.BoolVar(&f.createTopics, "create-topics", false, "create the deployment's topics that do not exist")
	flags.IntVar(&f.replication, "replication", 0, "with --create-topics: replicas of each partition (default: the "+
		"brokers' setting)")
	flags.BoolVar(&f.generateKeys, "generate-keys", false, "create the key files that do not exist")
	cli.FormatFlag(cmd, &f.format)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error { return a.runChange(cmd.Context(), f) })
	return cmd
}

func (a *app) runChange(ctx context.Context, f *changeFlags) error {
	switch {
	case f.dryRun && (f.createTopics || f.generateKeys):
		return command.Usage(errors.New("--dry-run makes nothing: leave --create-topics and --generate-keys out"))
	case !f.dryRun && (f.by == "" || f.why == ""):
		return command.Usage(errors.New("give --by and --why: the record of the promise names who changed it, and " +
			"the reason"))
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
	return a.printChange(f, d, result)
}
