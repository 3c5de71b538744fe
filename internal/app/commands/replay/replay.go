// Package replay has the command that writes a file to an events topic.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
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
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// app is what the commands of this package use of the world outside.
type app struct{ *command.App }

// replayFlags are the flags of replay as they were given.
type replayFlags struct {
	kafka                kafkaFlags
	config               string
	topic                string
	input, inputFormat   string
	encoding             string
	header               bool
	columns              []string
	userField, timeField string
	noUser               string
	times                input.TimeFlags
	input.ValueFlags
	avro       avroFlags
	rate       float64
	acceptLate bool
}

func Command(c *command.App) *cobra.Command {
	a := &app{c}
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Write a file to an events topic",
		Long: `Write the records of a file to a topic, unchanged and in the order of the file. A hash
of the user's id chooses the partition, and the time of the event becomes the time of
the Kafka record. A record without a usable time gets the time of the record before
it; a run will put it with the dead letters. replay leaves out records longer than
900,000 bytes.

replay does not sort. With time.trust: producer, a record with a later time makes the
records that follow it in its partition late, unless time.lateness covers them: sort the
file first.

Unless flags name them, replay takes the brokers, the topic and the fields from a
deployment's configuration: --config, $TOLLGATE_CONFIG or tollgate.yaml.

` + avroHelp + `
On a topic with append times (message.timestamp.type=LogAppendTime) the broker
replaces the times, so old events are late and none of them is counted. replay refuses
such a topic unless you give --accept-late.`,
		Example: `  tollgate replay --config tollgate.yaml --input events.jsonl
  tollgate replay --brokers localhost:9092 --topic visits --input visits.csv --header \
    --user-field user --time-field when --rate 1000
  tollgate replay --brokers localhost:9092 --topic visits --input visits.avro \
    --user-field user.id --time-field at --registry http://localhost:8081`,
		Args: command.NoArguments("--input"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.config, "config", "", "configuration file to take brokers, topic and fields from (default without flags for these: $TOLLGATE_CONFIG, else "+command.UsualConfig+")")
	f.kafka.register(flags)
	flags.StringVar(&f.topic, "topic", "", "the topic to write to; it must exist")
	flags.StringVar(&f.input, "input", "", "file with the events, also one that is compressed with gzip or zstd; - reads the standard input")
	flags.StringVar(&f.inputFormat, "input-format", "", input.AnyFormat()+" (default: by the name of the file)")
	input.EncodingFlag(flags, &f.encoding)
	flags.BoolVar(&f.header, "header", false, "the first record of a "+input.RowFormats(" or ")+" file names the columns and is not written")
	flags.StringSliceVar(&f.columns, "columns", nil, "names of the columns where there is no header: a,b,c")
	flags.StringVar(&f.userField, "user-field", "", "column with the user's id, or path of a field: user.id")
	input.NoUserFlag(flags, &f.noUser)
	flags.StringVar(&f.timeField, "time-field", "", input.TimeFieldUsage)
	f.times.Register(flags)
	f.RegisterValues(flags, "", "")
	f.avro.register(flags)
	flags.Float64Var(&f.rate, "rate", 0, "write at most this many records a second (default: as fast as possible)")
	flags.BoolVar(&f.acceptLate, "accept-late", false, "write even to a topic with append times, where old events are late")
	cmd.MarkFlagRequired("input") //nolint:errcheck // the flag exists
	cmd.RunE = a.Run(func(cmd *cobra.Command) error { return a.runReplay(cmd.Context(), f, cmd.Flags().Changed) })
	return cmd
}

// replayTo is where a replay goes, and how its records are read there.
type replayTo struct {
	kafka    pipeline.Kafka
	topic    string
	format   event.Format
	registry *registry.Client     // for Avro records with schema ids; nil for other records
	deployed *pipeline.Deployment // nil without a configuration
}

// countedFrom returns the time before which the deployment counts nothing; zero where there is
// none yet, or it is not known.
func (to replayTo) countedFrom(ctx context.Context) time.Time {
	if to.deployed == nil {
		return time.Time{}
	}
	from, err := pipeline.CountedFrom(ctx, to.deployed)
	if err != nil {
		return time.Time{} // a run says what is wrong with it
	}
	return from
}

// skew returns how far events may be ahead of the clock; nil where it is not known, or may be any
// time ahead.
func (to replayTo) skew() *time.Duration {
	if to.deployed == nil || to.deployed.Config.Time.NoFuture {
		return nil
	}
	return &to.deployed.Config.Time.Skew
}

// lateness returns how much older than a record before it an event may be; nil where it is not
// known, or the broker's times decide.
func (to replayTo) lateness() *time.Duration {
	if to.deployed == nil || to.deployed.Config.Time.Trust != pipeline.TrustProducer {
		return nil
	}
	return &to.deployed.Config.Time.Lateness
}

func (to replayTo) close() {
	if to.registry != nil {
		to.registry.Close()
	}
}

func (a *app) runReplay(ctx context.Context, f *replayFlags, changed func(string) bool) error {
	f.config = a.OrUsual(f.config, changed, ofTopics())
	if err := f.check(changed); err != nil {
		return err
	}
	to, explain, err := a.replayTarget(f, changed)
	if err != nil {
		return err
	}
	defer to.close()
	if err := f.checkHeader(to.format); err != nil {
		return err
	}
	if err := input.CheckEncoding(f.encoding, to.format.Encoding()); err != nil {
		return command.Usage(err)
	}
	to.format.Charset = f.encoding
	if f.NoValue != "" {
		to.format.NoValue = f.NoValue
	}
	client, err := a.Connect(ctx, to.kafka)
	if err != nil {
		return explain(err)
	}
	defer client.Close()
	return a.writeFile(ctx, f, client, to)
}

// checkHeader refuses a header where the topic's format has no header, and says where the
// format is given.
func (f *replayFlags) checkHeader(format event.Format) error {
	if !f.header || event.EncodingOf(format.Format).Tabular() {
		return nil
	}
	return command.Usage(fmt.Errorf("--header is for %s, but events.format in %s is %s: all records of a topic have one format, so give a file in that format", input.RowFormats(" and "), f.config, format.Format))
}

// writeFile writes the file to the topic, and reports on stderr how far it is.
func (a *app) writeFile(ctx context.Context, f *replayFlags, client *kafkalog.Client, to replayTo) error {
	tty, _ := terminal.Terminal(a.Stderr)
	progress := terminal.NewProgress(a.Stderr, tty, time.Now)
	defer progress.Flush()
	from := to.countedFrom(ctx)
	r, err := replay.Open(ctx, client, replay.Options{
		Path: f.input, Topic: to.topic, Format: to.format, Header: f.header, Registry: to.registry,
		SkipNoUser: f.noUser == demo.SkipNoUser, SkipNoValue: f.NoValue == event.NoValueSkip, SkipBadValues: f.SkipBadValues, UserSetting: f.userSetting(),
		PerSecond: f.rate, AcceptLate: f.acceptLate, CountedFrom: from, Skew: to.skew(), Lateness: to.lateness(),
		OnSchema:   func(id uint32) { progress.Note("the schema of the file has the id %d in the registry", id) },
		OnProgress: func(percent int64) { progress.Note("%d %% of the file after %s", percent, progress.Elapsed()) },
	})
	if err != nil {
		return f.explainFile(err, to.format)
	}
	defer r.Close()
	drain, stop := a.DrainOnSignal(progress, func() string { return "ending once the records that were read are written" }, a.Exit)
	defer stop()
	result, err := r.Run(ctx, drain)
	input.NoteFaults(progress, r.Faults().Texts())
	input.NoteTimes(progress, r.Faults(), nil, nil)
	input.NoteUnnamed(progress, "", r.Faults().Unnamed(), 0)
	input.NoteWithoutValue(progress, to.format.NoValue, r.Faults().WithoutValue())
	if err != nil {
		return f.explainFile(err, to.format)
	}
	input.NoteUnnamed(progress, cmp.Or(f.noUser, to.format.NoUser), uint64(result.Unnamed), r.Faults().Blank())
	printReplayed(progress, eventfile.Name(f.input), to.topic, from, result)
	return nil
}

// printReplayed says what was written, and what of it will not be counted.
func printReplayed(progress *terminal.Progress, input, topic string, from time.Time, result replay.Result) {
	if some := share(result.BeforeStart, result.Written); some != "" {
		progress.Note("warning: %s of the records are from before %s, where the deployment's time begins, and will not be counted. If they are newer, correct events.fields.time or events.time_unit; to count them, begin a new deployment with new keys: another name under deployment and other files under keys in the configuration, and tollgate init --generate-keys --create-topics --start TIME",
			some, from.Format(time.RFC3339))
	}
	if some := share(result.Future, result.Written); some != "" {
		progress.Note("warning: %s of the records have times ahead of the clock by more than time.skew of the configuration, and a run that reads them now does not count them: check the time field and its unit (events.fields.time, events.time_unit)",
			some)
	}
	if some := share(result.Late, result.Written); some != "" {
		progress.Note("warning: %s of the records are older, by more than time.lateness, than a record before them in their partition: a run counts them as late. Sort a file by time before you replay it",
			some)
	}
	if some := share(result.Expired, result.Written); some != "" {
		progress.Note("warning: %s of the records are older than the %s for which topic %s keeps events: brokers delete them, perhaps before a run reads them; raise its retention.ms",
			some, timespan.Text(result.Retention), topic)
	}
	if result.FirstLeftOut > 0 {
		progress.Note("left out records longer than %s bytes; the first is in %s %s", terminal.Number(demo.MaxRecordBytes, 0), result.Unit, terminal.Number(float64(result.FirstLeftOut), 0))
	}
	switch {
	case result.Drained:
		progress.Note("stopped by a signal: topic %s keeps the records that were written. If you replay the file again, it will have them twice", topic)
	case result.Written == 0:
		progress.Note("nothing of %s was written to topic %s: every record is too long", input, topic)
	default:
		progress.Note("all of %s is on topic %s after %s", input, topic, progress.Elapsed())
	}
}

// share says coarsely how many of all records some are; "" for none.
func share(some, all int64) string {
	switch {
	case some == 0:
		return ""
	case some == all:
		return "all"
	case 2*some > all:
		return "more than half"
	}
	return "some"
}

// userSetting is where the field with the user is set.
func (f *replayFlags) userSetting() string {
	if f.config != "" {
		return "events.fields.user in " + f.config
	}
	return "--user-field"
}

// ofTopics returns the flags that say what a configuration says.
func ofTopics() []string {
	return slices.Concat(cli.FlagNames(new(kafkaFlags).register), []string{"topic", "columns", "user-field", "time-field", "value-field", "decimals", "decimal-comma"}, cli.FlagNames(new(input.TimeFlags).Register), cli.FlagNames(new(avroFlags).register))
}

func (f *replayFlags) check(changed func(string) bool) error {
	if f.config != "" {
		own := ofTopics()
		if i := slices.IndexFunc(own, changed); i >= 0 {
			return command.Usage(fmt.Errorf("leave out --%s: the file of --config sets it already", own[i]))
		}
	}
	switch {
	case f.input == "":
		return command.Usage(errors.New("--input is empty: name a file"))
	case changed("rate") && !(f.rate > 0):
		return command.Must("rate", "above 0")
	}
	if f.config != "" {
		return f.checkFiles()
	}
	switch {
	case f.topic == "":
		return command.Usage(errors.New("--topic is needed, or --config FILE"))
	case f.userField == "":
		return command.Usage(errors.New("--user-field is needed: it decides the partition"))
	case f.timeField == "":
		return command.Usage(errors.New("--time-field is needed: it becomes the record's time"))
	}
	return f.checkFiles()
}

// checkFiles checks the files of all flags before it connects to anything.
func (f *replayFlags) checkFiles() error {
	return input.ReadableAll([][2]string{
		{"input", f.input}, {"schema", f.avro.schema}, {"tls-ca", f.kafka.ca}, {"tls-cert", f.kafka.cert}, {"tls-key", f.kafka.key},
		{"sasl-password-file", f.kafka.passwordIn}, {"registry-password-file", f.avro.passwordIn}, {"registry-ca", f.avro.caCrt},
	}...)
}

// explainFile names the flag, or the field of the configuration, in an error of the input.
func (f *replayFlags) explainFile(err error, format event.Format) error {
	if f.config == "" {
		return input.ExplainColumns(input.ExplainFormat(err), [2]string{"user-field", f.userField}, [2]string{"time-field", f.timeField})
	}
	var other *eventfile.FormatError
	if errors.As(err, &other) {
		return fmt.Errorf("%w; events.format in %s is %s, and a topic has records of one format: convert the file", err, f.config, format.Format)
	}
	return err
}

// replayTarget returns the target that flags or configuration name. explain maps errors of
// the connection to the flag or to the position in the file that caused them.
func (a *app) replayTarget(f *replayFlags, changed func(string) bool) (to replayTo, explain func(error) error, err error) {
	if f.config != "" {
		return a.targetOfFile(f)
	}
	to, err = a.targetOfFlags(f, changed)
	return to, func(err error) error {
		var wrong *pipeline.ConfigError
		if errors.As(err, &wrong) {
			return command.Usage(command.InFlags(wrong, changed))
		}
		return err
	}, err
}

func (a *app) targetOfFile(f *replayFlags) (to replayTo, explain func(error) error, err error) {
	d, err := a.Load(f.config, config.Options{WithoutKeys: true})
	if err != nil {
		return to, nil, err
	}
	cfg := d.Config
	to = replayTo{kafka: cfg.Kafka, topic: cfg.Events.Topic, format: cfg.Events.Format, deployed: d.Deployment}
	given, err := input.InputFormatOf(f.input, f.inputFormat)
	if err == nil && given.Name != to.format.Format && (f.inputFormat != "" || given.Schemas()) {
		return to, nil, command.Usage(fmt.Errorf("--input-format is %s, but events.format in the configuration is %s", given.Name, to.format.Format))
	}
	if f.noUser == event.NoUserEach && to.format.NoUser != f.noUser {
		return to, nil, command.Usage(fmt.Errorf("--no-user each needs events.no_user: each in %s: a run would take such records for broken ones", f.config))
	}
	if to.registry, err = registryOf(cfg.Events.Registry); err != nil {
		return to, nil, command.Contents(fmt.Errorf("events.registry: %w", err))
	}
	return to, d.Explained, nil
}

func (a *app) targetOfFlags(f *replayFlags, changed func(string) bool) (to replayTo, err error) {
	if to.kafka, err = f.kafka.kafka(a.Getenv); err != nil {
		return to, err
	}
	format, err := input.InputFormatOf(f.input, f.inputFormat)
	if err != nil {
		return to, command.Usage(err)
	}
	to.topic = f.topic
	to.format = event.Format{
		Format: format.Name, Columns: f.columns, User: f.userField,
	}
	to.format.Time, to.format.MoreTimes = input.SeveralFields(f.timeField)
	if err := f.times.Check(format, changed); err != nil {
		return to, command.Usage(err)
	}
	f.times.Of(&to.format)
	f.ValueFlags.Of(&to.format)
	if f.noUser == event.NoUserEach {
		to.format.NoUser = f.noUser
	}
	switch named := f.header || len(f.columns) > 0; {
	case format.Tabular() && !named:
		return to, command.Usage(fmt.Errorf("say where the columns of a %s file are named: --header, or --columns a,b,c", format.Name))
	case !format.Tabular() && named:
		return to, command.Usage(fmt.Errorf("--header and --columns are for %s", input.RowFormats(" and ")))
	}
	if !format.Schemas() {
		of := cli.FlagNames(new(avroFlags).register)
		if i := slices.IndexFunc(of, changed); i >= 0 {
			return to, command.Usage(fmt.Errorf("--%s is for %s, the input is %s", of[i], input.SchemaFormats(), format.Name))
		}
		return to, nil
	}
	return to, f.avro.target(&to, a.Getenv)
}
