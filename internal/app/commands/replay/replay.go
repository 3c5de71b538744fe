// Package replay implements the command that writes a file to an events topic.
package replay

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/input"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/replay"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// replayFlags are the flags of replay as they were given.
type replayFlags struct {
	config                       string
	input, inputFormat, encoding string
	header, skipBadValues        bool
	noUser, noValue              string
}

//go:embed replay.txt
var help string

func Command(a *command.App) *cobra.Command {
	f := &replayFlags{}
	return a.New("replay", help, func(cmd *cobra.Command) {
		flags := cmd.Flags()
		flags.StringVar(&f.input, "input", "", "")
		a.ConfigPath(cmd, &f.config)
		flags.StringVar(&f.inputFormat, "input-format", "", "")
		input.EncodingFlag(flags, &f.encoding)
		flags.BoolVar(&f.header, "header", false, "")
		input.NoUserFlag(flags, &f.noUser)
		input.NoValueFlags(flags, &f.noValue, &f.skipBadValues)
		cmd.MarkFlagRequired("input") //nolint:errcheck // the flag exists
	}, func(cmd *cobra.Command) error { return runReplay(cmd.Context(), a, f) },
		"{formats}", input.AnyFormat(), "{rows}", input.RowFormats(" or "))
}

// replayTarget is the topic that a replay writes to, and how its records are decoded.
type replayTarget struct {
	*command.Loaded
	format   event.Format
	registry *registry.Client // for Avro records with schema ids; nil for other records
}

func runReplay(ctx context.Context, a *command.App, f *replayFlags) error {
	if err := input.Readable("input", f.input); err != nil {
		return err
	}
	to, err := target(a, f)
	if err != nil {
		return err
	}
	if to.registry != nil {
		defer to.registry.Close()
	}
	if err := f.checkHeader(to.format); err != nil {
		return err
	}
	if err := input.CheckEncoding(f.encoding, to.format.Encoding()); err != nil {
		return command.Usage(err)
	}
	to.format.Charset = f.encoding
	if f.noValue != "" {
		to.format.NoValue = f.noValue
	}
	client, err := a.Connect(ctx, to.Config.Kafka)
	if err != nil {
		return to.Explained(err)
	}
	defer client.Close()
	return writeFile(ctx, a, f, client, to)
}

// checkHeader refuses --header if the topic's format has no header.
func (f *replayFlags) checkHeader(format event.Format) error {
	if !f.header || event.EncodingOf(format.Format).Tabular() {
		return nil
	}
	return command.Usage(fmt.Errorf("--header is for %s, but events.format in %s is %s: all records of a topic have "+
		"one format, so give a file in that format", input.RowFormats(" and "), f.config, format.Format))
}

// writeFile writes the file to the topic, and reports its progress on stderr.
func writeFile(ctx context.Context, a *command.App, f *replayFlags, client *kafkalog.Client, to replayTarget) error {
	progress := a.Progress()
	defer progress.Flush()
	r, err := replay.Open(ctx, client, replay.Options{
		Path: f.input, Topic: to.Config.Events.Topic, Format: to.format, Header: f.header, Registry: to.registry,
		SkipNoUser: f.noUser == demo.SkipNoUser, SkipNoValue: f.noValue == event.NoValueSkip,
		SkipBadValues: f.skipBadValues, UserSetting: "events.fields.user in " + f.config,
		OnSchema:   func(id uint32) { progress.Note("the schema of the file has the id %d in the registry", id) },
		OnProgress: func(percent int64) { progress.Note("%d%% of the file after %s", percent, progress.Elapsed()) },
	})
	if err != nil {
		return f.explainFile(err, to.format)
	}
	defer r.Close()
	drain, stop := a.DrainOnSignal(progress, func() string {
		return "stopping once the records already read have been written"
	}, a.Exit)
	defer stop()
	result, err := r.Run(ctx, drain)
	input.NoteFaults(progress, r.Faults().Texts())
	input.NoteTimes(progress, r.Faults())
	input.NoteUnnamed(progress, "", r.Faults().Unnamed(), 0)
	input.NoteWithoutValue(progress, to.format.NoValue, r.Faults().WithoutValue())
	if err != nil {
		return f.explainFile(err, to.format)
	}
	input.NoteUnnamed(progress, cmp.Or(f.noUser, to.format.NoUser), uint64(result.Unnamed), r.Faults().Blank())
	printReplayed(progress, eventfile.Name(f.input), to.Config.Events.Topic, result)
	return nil
}

// printReplayed notes what was written, and which records will not be counted.
func printReplayed(progress *terminal.Progress, input, topic string, result replay.Result) {
	if result.Expired > 0 {
		progress.Note("warning: records are older than the %s for which topic %s keeps events: brokers may delete "+
			"them before a run reads them; raise its retention.ms", timespan.Text(result.Retention), topic)
	}
	if result.FirstLeftOut > 0 {
		progress.Note("left out records longer than %s bytes; the first is in %s %s",
			terminal.Number(demo.MaxRecordBytes, 0), result.Unit, terminal.Number(float64(result.FirstLeftOut), 0))
	}
	switch {
	case result.Drained:
		progress.Note("stopped by a signal: topic %s keeps the records that were written. If you replay the file "+
			"again, it will have them twice", topic)
	case result.Written == 0:
		progress.Note("nothing from %s was written to topic %s: no record could be used", input, topic)
	default:
		progress.Note("all of %s is on topic %s after %s", input, topic, progress.Elapsed())
	}
}

// explainFile adds the configuration field to an error about the input's format.
func (f *replayFlags) explainFile(err error, format event.Format) error {
	var other *eventfile.FormatError
	if errors.As(err, &other) {
		return fmt.Errorf("%w; events.format in %s is %s, and all records of a topic have one format: convert the file",
			err, f.config, format.Format)
	}
	return err
}

// target returns the target that the configuration names.
func target(a *command.App, f *replayFlags) (to replayTarget, err error) {
	if to.Loaded, err = a.Load(f.config, config.Options{WithoutKeys: true}); err != nil {
		return to, err
	}
	to.format = to.Config.Events.Format
	given, err := input.InputFormatOf(f.input, f.inputFormat)
	if err == nil && given.Name != to.format.Format && (f.inputFormat != "" || given.Schemas()) {
		return to, command.Usage(fmt.Errorf("the input is %s, but events.format in the configuration is %s",
			given.Name, to.format.Format))
	}
	if f.noUser == event.NoUserEach && to.format.NoUser != f.noUser {
		return to, command.Usage(fmt.Errorf("--no-user each needs events.no_user: each in %s: otherwise a run treats "+
			"such records as broken", f.config))
	}
	if g := to.Config.Events.Registry; g != nil {
		to.registry, err = registry.New(registry.Config{URL: g.URL, User: g.User, Password: g.Password,
			CAFile: g.CAFile})
		if err != nil {
			return to, command.Contents(fmt.Errorf("events.registry: %w", err))
		}
	}
	return to, nil
}
