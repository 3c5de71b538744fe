package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Options configure a replay. Path, Topic and Format are required.
type Options struct {
	Path  string
	Topic string // an existing topic

	Format        event.Format // format of the topic, and of the file
	Header        bool         // whether the first record of a csv or tsv file names the columns
	UserSetting   string       // the setting of Format.User, for errors
	SkipNoUser    bool         // skip records without a user
	SkipNoValue   bool         // skip records without a value, if Format has NoValueSkip
	SkipBadValues bool         // skip records whose value cannot be read

	// Registry stores the schemas of Avro records that begin with an id; nil if Format contains the
	// schema of bare records, and for other formats.
	Registry *registry.Client

	// OnSchema is called with the id of the file's schema in the registry, before anything is
	// written; OnProgress every two seconds with the percentage of a regular file that was read.
	// Both may be nil, and are called by the goroutine of Run.
	OnSchema   func(id uint32)
	OnProgress func(percent int64)
}

// Result describes a successful replay.
type Result struct {
	Written      int64         // number of records
	Unnamed      int64         // records without a user: skipped, or each with a user of its own
	FirstLeftOut int64         // number of the first record that was too long; 0 for none
	Unit         string        // unit of FirstLeftOut: "line" or "record"
	Drained      bool          // whether the caller ended the replay before the end of the file
	Expired      int64         // records older than the topic's retention.ms, which its brokers delete
	Retention    time.Duration // retention of the topic; 0 for no limit
}

// Replay writes a file to a topic.
type Replay struct {
	client  *kafkalog.Client
	options Options

	file       *os.File
	read       *countingReader
	size       int64 // size of a regular file, or 0
	source     source
	decoder    *event.Decoder
	faults     *eventfile.Faults
	partitions *demo.Writers
	due        <-chan time.Time // deadline for writing the pending records
	reported   time.Time        // time of the last OnProgress

	keptFrom int64              // brokers delete records before this time, in Unix milliseconds; 0 for none
	last     int64              // time of the last record that had one
	timed    bool               // whether a record had a time
	named    bool               // whether a record had a user
	waiting  []eventfile.Record // records before the first time
	result   Result

	schema  string // schema of a container file, or ""
	prefix  []byte // prefix of every record on the topic, with the id of the schema
	scratch []byte
}

// maxWaiting is the largest number of records before the first usable time.
const maxWaiting = 100_000

// Open reads the head of the file, checks the topic, registers the schema and opens producers, but
// writes nothing. It refuses a topic with a deployment's outputs. Close does not close the client.
func Open(ctx context.Context, client *kafkalog.Client, o Options) (*Replay, error) {
	file, err := eventfile.OpenFile(o.Path)
	if err != nil {
		return nil, err //nolint:wrapcheck // a whole sentence
	}
	r := &Replay{
		client: client, options: o, file: file, read: &countingReader{r: file},
		faults: eventfile.NewFaults(o.Format), reported: time.Now(),
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		r.size = info.Size()
	}
	if err := r.prepare(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Replay) prepare(ctx context.Context) error {
	if err := r.openSource(); err != nil {
		return fmt.Errorf("reading input file %s: %w", eventfile.Name(r.options.Path), err)
	}
	if err := r.checkTopic(ctx); err != nil {
		return err
	}
	partitions, err := r.client.Partitions(ctx, r.options.Topic)
	if err != nil {
		return fmt.Errorf("reading topic %s: %w", r.options.Topic, err)
	}
	if err := r.refuseOutputs(ctx, partitions); err != nil {
		return err
	}
	if err := r.register(ctx); err != nil {
		return err
	}
	r.partitions, err = demo.NewWriters(ctx, r.client, r.options.Topic, partitions)
	return err
}

// Faults returns the broken records so far. They are on the topic, and a run will dead-letter them.
func (r *Replay) Faults() *eventfile.Faults { return r.faults }

// Close closes the file and the producers.
func (r *Replay) Close() {
	if r.partitions != nil {
		r.partitions.Close()
	}
	r.file.Close()
}

// checkTopic refuses a topic on which all past events would be late, and records its retention.
func (r *Replay) checkTopic(ctx context.Context) error {
	topic := r.options.Topic
	settings, err := r.client.TopicConfig(ctx, topic)
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		return fmt.Errorf("reading topic %s: %w: correct its name, or create it; tollgate init --create-topics "+
			"--event-partitions N creates the topic of a deployment", topic, err)
	}
	if err != nil {
		return fmt.Errorf("reading topic %s: %w", topic, err)
	}
	if settings["message.timestamp.type"] == "LogAppendTime" {
		return fmt.Errorf("topic %s has append times (message.timestamp.type=LogAppendTime): old events would all be "+
			"late, and none of them counted. Use a topic with message.timestamp.type=CreateTime and time.trust: "+
			"producer", topic)
	}
	retention, err := strconv.ParseInt(settings["retention.ms"], 10, 64)
	if err == nil && retention >= 0 && strings.Contains(settings["cleanup.policy"], "delete") {
		r.keptFrom = time.Now().UnixMilli() - retention
		r.result.Retention = time.Duration(min(retention, math.MaxInt64/1_000_000)) * time.Millisecond
	}
	return nil
}

// Run writes the file. When drain is closed, it writes only the records already read; if no broker
// responds by then, it returns the error of kafkalog.Client.Gone. Call Run once. Records written
// before an error stay on the topic.
func (r *Replay) Run(ctx context.Context, drain <-chan struct{}) (Result, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-drain:
			if err := r.client.Gone(ctx); err != nil {
				end(err)
			}
		case <-ctx.Done():
		}
	}()
	if err := r.copy(ctx, drain); err != nil {
		return Result{}, fmt.Errorf("replaying %s: %w", eventfile.Name(r.options.Path), err)
	}
	return r.result, nil
}

// errNoTime is returned if no record could be decoded.
var errNoTime = errors.New("no record has a usable user and time: check events.fields in the " +
	"configuration, and the unit of times, events.time_unit. If events.fields.value is set, every record needs a " +
	"whole number there; with events.decimals, any number will do")
