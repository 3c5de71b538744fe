// Package initialise has the command init, which begins a deployment, and the rule that refuses a
// second promise under the same keys.
package initialise

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// app is what the commands of this package use of the world outside.
type app struct{ *command.App }

// initFlags are the flags of init as they were given.
type initFlags struct {
	config          string
	start           startValue
	createTopics    bool
	eventPartitions int
	replication     int
	generateKeys    bool
	strict          bool
	first, second   bool
	by, why         string
}

func Command(c *command.App) *cobra.Command {
	a := &app{c}
	f := &initFlags{start: startValue{text: "now"}}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Begin a deployment: write what it promises to its control topic",
		Long: `Write the HEADER of a deployment to its control topic: the promise to users, the
metrics, fingerprints of the keys, and the start of the first window. From then on
"tollgate run" refuses to start with anything else. "tollgate change" can change the
metrics, the noise key and more (see its help), and lower the budget; the promise
never becomes weaker. If there is a HEADER already, init changes nothing. It exits
with 0 if the deployment has this configuration; otherwise it lists the differences
and exits with 3.

Tollgate does not count events before --start. "earliest" starts at the timestamp of
the first record of the events topic, the lowest of all partitions. With producer
times, a later record may hold an older event, which is not counted either. init
rounds the start down to the beginning of a window. With time.window_zone,
Tollgate reads a time without an offset in that zone: --start 2026-01-01.

Two deployments with the same keys make two promises to the same people, and what both
reveal about a person adds up. So init records on which cluster a deployment has
begun, beside the file of the user-hash key or where keys.record says. It refuses a
second deployment, for example if the address of the brokers is wrong or the control
topic was lost, unless you ask for one with --begin-second-promise. If the keys come
from the environment and there is no record, or if an init on another cluster or topic
was interrupted, confirm with --begin-first-promise that no deployment has begun with
these keys.

With --create-topics, init creates the deployment's topics that are missing, with the
settings that a restart needs; it does not touch topics that exist. With
--generate-keys, it creates the key files that are missing, readable only by their
owner.`,
		Example: `  tollgate init --config tollgate.yaml --generate-keys --create-topics --replication 3
  tollgate init --config tollgate.yaml --start 2026-01-01T00:00:00Z`,
		Args: command.NoArguments("--config"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	a.ConfigPath(cmd, &f.config)
	flags.Var(&f.start, "start", "start of the first window: now, earliest (one record can decide it), or a time like "+
		"2026-01-01T00:00:00Z")
	flags.BoolVar(&f.createTopics, "create-topics", false, "create the deployment's topics that do not exist")
	flags.IntVar(&f.eventPartitions, "event-partitions", 0, "with --create-topics: also create the events topic, with "+
		"this many partitions")
	flags.IntVar(&f.replication, "replication", 0, "with --create-topics: replicas of each partition (default: the "+
		"brokers' setting)")
	flags.BoolVar(&f.generateKeys, "generate-keys", false, "create the key files that do not exist")
	flags.BoolVar(&f.first, "begin-first-promise", false, "confirm that no deployment has begun with these keys: if "+
		"they come from the environment and there is no record, or if an init was interrupted elsewhere")
	flags.BoolVar(&f.second, "begin-second-promise", false, "begin another deployment with the keys of an existing "+
		"one: what both reveal about the same people adds up")
	flags.StringVar(&f.by, "by", "", "who begins it; recorded for good, see tollgate promise")
	flags.StringVar(&f.why, "why", "", "what for, or where it is written down; recorded for good")
	command.StrictFlag(cmd, &f.strict)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error { return a.runInit(cmd.Context(), f) })
	return cmd
}

func (f *initFlags) check() error {
	switch {
	case !f.createTopics && (f.eventPartitions != 0 || f.replication != 0):
		return command.Usage(fmt.Errorf("--event-partitions and --replication are only used with --create-topics"))
	case f.first && f.second:
		return command.Usage(fmt.Errorf("--begin-first-promise and --begin-second-promise contradict each other: " +
			"give one"))
	case f.eventPartitions < 0:
		return command.Must("event-partitions", "at least 1")
	case f.replication < 0 || f.replication > 1<<15-1:
		return command.Must("replication", "from 1 to %d", 1<<15-1)
	}
	return nil
}

func (a *app) runInit(ctx context.Context, f *initFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	d, err := a.Prepare(f.config, f.generateKeys)
	if err != nil {
		return err
	}
	if err := a.WarnAbout(d, f.strict, false); err != nil {
		return err
	}
	d, record := d.Unrecorded()
	if err = a.AwaitAnswer(ctx, d.Config.Kafka); err == nil {
		err = a.begin(ctx, f, d, record)
	}
	var already *pipeline.InitialisedError
	if errors.As(err, &already) {
		return a.initialisedAlready(ctx, f, d, record, already)
	}
	if err != nil {
		return d.Explained(err)
	}
	return nil
}

// begin makes topics and writes the HEADER.
func (a *app) begin(ctx context.Context, f *initFlags, d *command.Loaded, record *pipeline.Record) error {
	if err := pipeline.Initialised(ctx, d.Deployment); err != nil {
		return err // a topic that it has lost must not be made anew
	}
	cluster, err := pipeline.ClusterID(ctx, d.Deployment)
	if err != nil {
		return err
	}
	switch no, err := mayBegin(f, d, record, cluster); {
	case err != nil:
		return err
	case no != nil:
		return no.ofInit(d)
	}
	if err := d.MayBegin(); err != nil { // last: with other brokers the deployment may have begun
		return err
	}
	if f.createTopics {
		o := pipeline.TopicOptions{EventPartitions: f.eventPartitions, Replication: f.replication}
		if err := pipeline.CheckMissingTopics(ctx, d.Deployment, o); err != nil {
			return err // a topic that was lost must not seem to be there
		}
		if err := a.CreateTopics(ctx, d, o); err != nil {
			return err
		}
	}
	if err := pipeline.CheckTopics(ctx, d.Deployment, a.Checking(f.strict)); err != nil {
		return err
	}
	start, err := f.start.resolve(ctx, d.Config, time.Now)
	if err != nil {
		return err
	}
	b, err := newBeginning(d, cluster)
	if err != nil {
		return err
	}
	commit := func() error { return willBegin(d, b) }
	if err := pipeline.Init(ctx, d.Deployment, pipeline.InitOptions{Start: start, Incarnation: b.Incarnation, By: f.by,
		Why: f.why, Commit: commit}); err != nil {
		return err
	}
	if err := a.hasBegun(f, d, b); err != nil {
		return err
	}
	return a.printInit(f, d, start)
}

// printInit prints what was promised, and what to do next.
func (a *app) printInit(f *initFlags, d *command.Loaded, start time.Time) error {
	cfg := d.Config
	first := deployment.FirstWindow(d.Deployment, start)
	var b strings.Builder
	fmt.Fprintf(&b, "%s is initialised on topic %s; time begins at %s\n\n", cfg.Deployment, cfg.Outputs.Control,
		first.Format(time.RFC3339))
	command.WritePromise(&b, plan.New(d.Deployment), false)
	command.WriteBackups(&b, d.File)
	fmt.Fprintf(&b, "\nnext: tollgate run --config %s\n", f.config)
	return a.Print(b.String())
}
