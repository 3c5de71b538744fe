// Package initialise implements the command init, which begins a deployment, and the rule that
// refuses a second promise under the same keys.
package initialise

import (
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// app gives the command access to the process around it.
type app struct{ *command.App }

// initFlags are the flags of init as they were given.
type initFlags struct {
	config          string
	start           command.TimeValue
	createTopics    bool
	eventPartitions int
	replication     int
	generateKeys    bool
	strict          bool
	first, second   bool
	by, why         string
}

//go:embed init.txt
var help string

func Command(c *command.App) *cobra.Command {
	a, f := &app{c}, &initFlags{start: command.TimeValue{Words: []string{"now", "earliest"}, Word: "now"}}
	return a.New("init", help, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &f.config)
		flags := cmd.Flags()
		flags.Var(&f.start, "start", "")
		flags.BoolVar(&f.createTopics, "create-topics", false, "")
		flags.IntVar(&f.eventPartitions, "event-partitions", 0, "")
		flags.IntVar(&f.replication, "replication", 0, "")
		flags.BoolVar(&f.generateKeys, "generate-keys", false, "")
		flags.BoolVar(&f.first, "begin-first-promise", false, "")
		flags.BoolVar(&f.second, "begin-second-promise", false, "")
		flags.StringVar(&f.by, "by", "", "")
		flags.StringVar(&f.why, "why", "", "")
		command.StrictFlag(cmd, &f.strict)
	}, func(cmd *cobra.Command) error { return a.runInit(cmd.Context(), f) })
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

// begin creates topics and writes the HEADER.
func (a *app) begin(ctx context.Context, f *initFlags, d *command.Loaded, record *pipeline.Record) error {
	if err := pipeline.Initialised(ctx, d.Deployment); err != nil {
		return err // a lost topic of a deployment must not be created again
	}
	cluster, err := pipeline.ClusterID(ctx, d.Deployment)
	if err != nil {
		return err
	}
	switch refusal, err := mayBegin(f, d, record, cluster); {
	case err != nil:
		return err
	case refusal != nil:
		return refusal.ofInit(d)
	}
	if err := d.MayBegin(); err != nil { // last: with other brokers the deployment may have begun
		return err
	}
	if f.createTopics {
		o := pipeline.TopicOptions{EventPartitions: f.eventPartitions, Replication: f.replication}
		if err := pipeline.CheckMissingTopics(ctx, d.Deployment, o); err != nil {
			return err // no topic may be created if another one was lost
		}
		if err := a.CreateTopics(ctx, d, o); err != nil {
			return err
		}
	}
	if err := pipeline.CheckTopics(ctx, d.Deployment, a.Checking(f.strict)); err != nil {
		return err
	}
	start := f.start.Moment(d.Config.Time.WindowZone)
	switch f.start.Word {
	case "now":
		start = time.Now()
	case "earliest":
		if start, err = earliest(ctx, d.Config); err != nil {
			return err
		}
	}
	b, err := newBeginning(d, cluster)
	if err != nil {
		return err
	}
	commit := func() error { return recordIntent(d, b) }
	if err := pipeline.Init(ctx, d.Deployment, pipeline.InitOptions{Start: start, Incarnation: b.Incarnation, By: f.by,
		Why: f.why, Commit: commit}); err != nil {
		return err
	}
	if err := a.recordBegun(f, d, b); err != nil {
		return err
	}
	return a.printInit(f, d, start)
}

// printInit prints the promise and the next step.
func (a *app) printInit(f *initFlags, d *command.Loaded, start time.Time) error {
	cfg := d.Config
	first := deployment.FirstWindow(d.Deployment, start)
	var b strings.Builder
	fmt.Fprintf(&b, "%s is initialised on topic %s; time begins at %s\n\n", cfg.Deployment, cfg.Outputs.Control,
		first.Format(time.RFC3339))
	command.WritePromise(&b, plan.New(d.Deployment), false)
	command.WriteBackupList(&b, d.File)
	fmt.Fprintf(&b, "\nnext: tollgate run --config %s\n", f.config)
	return a.Print(b.String())
}

// earliest returns the earliest timestamp among the first records of the events topic's partitions.
func earliest(ctx context.Context, cfg pipeline.Config) (time.Time, error) {
	client, err := connect.Dial(ctx, cfg.Kafka, nil)
	if err != nil {
		return time.Time{}, err
	}
	defer client.Close()
	millis, found, err := client.FirstTime(ctx, cfg.Events.Topic)
	if err == nil && !found {
		err = errors.New("the topic is empty: give --start now, or a time")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for the first record of topic %s: %w", cfg.Events.Topic, err)
	}
	return time.UnixMilli(millis).UTC(), nil
}

// initialisedAlready finishes an init that found a HEADER. It succeeds if the HEADER matches the
// configuration and the topics are set up correctly, so that scripts can repeat init, and operators
// can after a crash.
func (a *app) initialisedAlready(ctx context.Context, f *initFlags, d *command.Loaded, record *pipeline.Record,
	e *pipeline.InitialisedError) error {
	if len(e.Differences) > 0 {
		return command.Contents(differsFrom(f, d, e))
	}
	if err := pipeline.CheckTopics(ctx, d.Deployment, a.Checking(f.strict)); err != nil {
		return d.Explained(err)
	}
	if err := a.recordAlready(f, d, record, e); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is already initialised on topic %s, with this configuration; nothing was changed%s\n",
		d.Config.Deployment, e.Topic, d.ExceptMade())
	fmt.Fprintf(&b, "incarnation %s, generation %d; time begins at %s\n", hex.EncodeToString(e.Incarnation[:]),
		e.Generation, e.Start.Format(time.RFC3339))
	if start := f.start.Moment(d.Config.Time.WindowZone); f.start.Word == "" &&
		!deployment.FirstWindow(d.Deployment, start).Equal(e.Start) {
		fmt.Fprintf(&b, "--start %s is ignored: the first init fixed where time begins\n", &f.start)
	}
	command.WriteBackupList(&b, d.File)
	fmt.Fprintf(&b, "\nnext: tollgate run --config %s\n", f.config)
	return a.Print(b.String())
}

// differsFrom returns the error for a configuration that differs from the one in force, with the
// remedy.
func differsFrom(f *initFlags, d *command.Loaded, e *pipeline.InitialisedError) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is already initialised on topic %s, with another configuration (generation %d, incarnation "+
		"%s, time begins at %s); nothing was changed%s. What differs, in force → in %s:\n",
		d.Config.Deployment, e.Topic, e.Generation, hex.EncodeToString(e.Incarnation[:]), e.Start.Format(time.RFC3339),
		d.ExceptMade(), f.config)
	never := false
	for _, one := range e.Differences {
		fmt.Fprintf(&b, "  %s\n", one.What)
		command.WriteValues(&b, "    ", one.Values)
		if one.Never != "" {
			never = true
			fmt.Fprintf(&b, "    this cannot be changed: %s\n", one.Never)
		}
	}
	if never {
		b.WriteString("put the old values back, or begin a new deployment with new keys, another name (deployment: " +
			"NAME) and its own topics under outputs")
	} else {
		fmt.Fprintf(&b, "put it in force with: tollgate change --config %s (--dry-run shows what would change); or "+
			"put the old values back", f.config)
	}
	return errors.New(b.String())
}
