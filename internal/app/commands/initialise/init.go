// Package initialise implements the command init, which begins a deployment, and the rule that
// refuses a second promise under the same keys.
package initialise

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

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

var (
	//go:embed init.txt
	help string
	//go:embed init_output.txt
	output string
)

func Command(a *command.App) *cobra.Command {
	f := &initFlags{start: command.TimeValue{Words: []string{"now", "earliest"}, Word: "now"}}
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
	}, func(cmd *cobra.Command) error { return runInit(cmd.Context(), a, f) })
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

func runInit(ctx context.Context, a *command.App, f *initFlags) error {
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
		err = begin(ctx, a, f, d, record)
	}
	var already *pipeline.InitialisedError
	if errors.As(err, &already) {
		return initialisedAlready(ctx, a, f, d, record, already)
	}
	if err != nil {
		return d.Explained(err)
	}
	return nil
}

// begin creates topics and writes the HEADER.
func begin(ctx context.Context, a *command.App, f *initFlags, d *command.Loaded, record *pipeline.Record) error {
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
	if err := d.CheckNew(); err != nil { // last: with other brokers the deployment may have begun
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
	if err := recordBegun(a, f, d, b); err != nil {
		return err
	}
	return printInit(a, "begun", initText{Plan: plan.New(d.Deployment), Loaded: d, Path: f.config,
		Start: deployment.FirstWindow(d.Deployment, start)})
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
func initialisedAlready(ctx context.Context, a *command.App, f *initFlags, d *command.Loaded, record *pipeline.Record,
	e *pipeline.InitialisedError) error {
	if len(e.Differences) > 0 {
		text, err := command.Text(command.Template(output).Lookup("differs"), initText{Loaded: d, InitialisedError: e,
			Path: f.config, Start: e.Start})
		return cmp.Or(err, command.Contents(errors.New(strings.TrimSuffix(text, "\n"))))
	}
	if err := pipeline.CheckTopics(ctx, d.Deployment, a.Checking(f.strict)); err != nil {
		return d.Explained(err)
	}
	if err := recordAlready(a, f, d, record, e); err != nil {
		return err
	}
	text := initText{Loaded: d, InitialisedError: e, Path: f.config, Start: e.Start}
	if start := f.start.Moment(d.Config.Time.WindowZone); f.start.Word == "" &&
		!deployment.FirstWindow(d.Deployment, start).Equal(e.Start) {
		text.Ignored = f.start.String()
	}
	return printInit(a, "already", text)
}

// initText is the data of init_output.txt.
type initText struct {
	*plan.Plan
	*command.Loaded
	*pipeline.InitialisedError
	Path    string // of the configuration
	Start   time.Time
	Ignored string // --start, if the deployment began at another time
}

func (t initText) Backups() []command.Backup { return command.Backups(t.File) }

func (t initText) ID() string { return hex.EncodeToString(t.Incarnation[:]) }

// Never reports whether one of the differences can never be put in force.
func (t initText) Never() bool {
	return slices.ContainsFunc(t.Differences, func(d pipeline.Difference) bool { return d.Never != "" })
}

func printInit(a *command.App, name string, data initText) error {
	text, err := command.Text(command.Template(output).Lookup(name), data)
	if err != nil {
		return err
	}
	return a.Print(text)
}
