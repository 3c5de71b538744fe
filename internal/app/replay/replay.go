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

	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Options name the file and the topic, and configure the writing. Path, Topic and Format are
// required.
type Options struct {
	Path  string
	Topic string // it must exist

	// Format is how the pipeline reads the topic, and the layout of the file.
	Format event.Format
	// Header is set if the first record of a csv or tsv file names the columns and is not written.
	// Only for these two.
	Header bool
	// UserSetting is where Format.User was set, for errors.
	UserSetting string
	// SkipNoUser leaves out records without a user.
	SkipNoUser bool
	// SkipNoValue leaves out records without a value, where Format has NoValueSkip; SkipBadValues
	// those whose value cannot be read.
	SkipNoValue, SkipBadValues bool
	// Registry has the schemas of Avro records that begin with an id; nil where Format has
	// the schema of bare records, and for other formats.
	Registry *registry.Client

	PerSecond  float64 // records a second at most; 0: as fast as it goes
	AcceptLate bool    // write to a topic with append times all the same

	// CountedFrom is the time before which the topic's deployment counts nothing; zero if it is not
	// known.
	CountedFrom time.Time

	// Skew is how far an event may be ahead of the clock; nil if it may be any time ahead.
	Skew *time.Duration

	// Lateness is how much older than a record before it in its partition an event may be, if a run
	// goes by the producers' times; nil if a run goes by the broker's.
	Lateness *time.Duration

	// OnSchema is called with the id of the file's schema in the registry, before anything is
	// written. OnProgress is called every two seconds with how much of a regular file was read, in
	// percent. Both are called by the goroutine that runs the replay, and may be nil.
	OnSchema   func(id uint32)
	OnProgress func(percent int64)
}

// Result is what a replay that did not fail has done.
type Result struct {
	Written      int64         // records
	Unnamed      int64         // records without a user that were left out, or that Format takes for events
	FirstLeftOut int64         // number of the first record that was too long; 0: no record was
	Unit         string        // unit of that number: "line" or "record"
	Drained      bool          // the caller ended it: the rest of the file is not on the topic
	BeforeStart  int64         // records of times before Options.CountedFrom
	Future       int64         // records ahead of now by more than Options.Skew
	Late         int64         // records older than one before them in their partition by more than Options.Lateness
	Expired      int64         // records that are older than the topic's retention.ms: its brokers delete them
	Retention    time.Duration // for which the topic keeps events; 0: for ever
}

// Replay is a file on its way to a topic.
type Replay struct {
	client  *kafkalog.Client
	options Options

	file       *os.File
	read       *countingReader
	size       int64 // size of the file; 0 if it has none
	source     source
	decoder    *event.Decoder
	faults     *eventfile.Faults
	partitions *partitionWriters
	pace       pace
	due        <-chan time.Time // when what waits in partitions is written at the latest
	reported   time.Time        // when OnProgress was called last

	keptFrom int64              // Unix milliseconds: brokers delete older records; 0 for none
	last     int64              // time of the last record that had a time
	timed    bool               // a record had a time
	named    bool               // a record had a user
	newest   map[int]int64      // by partition, the newest time so far
	waiting  []eventfile.Record // records before the first time
	result   Result

	schema  string // schema of a container file, else ""
	prefix  []byte // of every record on the topic: the id of its schema
	scratch []byte
}

// maxWaiting bounds the records before the first usable time.
const maxWaiting = 100_000

// Open looks at the head of the file and at the topic, registers its schema and takes
// the partitions; nothing is written yet. A topic with a deployment's outputs is refused.
// The client is the caller's, and stays open. Close the Replay.
func Open(ctx context.Context, client *kafkalog.Client, o Options) (*Replay, error) {
	file, err := eventfile.OpenFile(o.Path)
	if err != nil {
		return nil, err //nolint:wrapcheck // a whole sentence
	}
	r := &Replay{
		client: client, options: o, file: file, read: &countingReader{r: file},
		faults: eventfile.NewFaults(o.Format), newest: map[int]int64{}, reported: time.Now(),
		pace: pace{perSecond: o.PerSecond},
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
	r.partitions, err = newPartitionWriters(ctx, r.client, r.options.Topic, partitions)
	return err
}

// Faults are the broken records that were read so far. They are on the topic, and a run will put
// them with the dead letters.
func (r *Replay) Faults() *eventfile.Faults { return r.faults }

// Close releases the file and the partitions.
func (r *Replay) Close() {
	if r.partitions != nil {
		r.partitions.close()
	}
	r.file.Close()
}

// checkTopic refuses a topic on which every event of the past would be late, and notes how
// long it keeps events.
func (r *Replay) checkTopic(ctx context.Context) error {
	topic := r.options.Topic
	settings, err := r.client.TopicConfig(ctx, topic)
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		return fmt.Errorf("reading topic %s: %w: correct its name, or create it; tollgate init --create-topics "+
			"--event-partitions N creates that of a deployment", topic, err)
	}
	if err != nil {
		return fmt.Errorf("reading topic %s: %w", topic, err)
	}
	appended := settings["message.timestamp.type"] == "LogAppendTime"
	if appended && !r.options.AcceptLate {
		return fmt.Errorf("topic %s has append times (message.timestamp.type=LogAppendTime): old events would all be "+
			"late, "+
			"and none of them counted. Use a topic with message.timestamp.type=CreateTime and time.trust: producer, "+
			"or --accept-late", topic)
	}
	retention, err := strconv.ParseInt(settings["retention.ms"], 10, 64)
	if err == nil && retention >= 0 && !appended && strings.Contains(settings["cleanup.policy"], "delete") {
		r.keptFrom = time.Now().UnixMilli() - retention
		r.result.Retention = time.Duration(min(retention, math.MaxInt64/1_000_000)) * time.Millisecond
	}
	return nil
}

// Run writes the file. It ends early once drain is closed: it writes the records already read, and
// no more of the file; if no broker responds by then, it ends with the error of
// kafkalog.Client.Gone. Run is called once. Records written before an error stay on the topic.
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

// errNoTime is returned while no record could be decoded.
var errNoTime = errors.New("no record has a user and a time that can be used: look at events.fields in the " +
	"configuration, " +
	"and at the unit of times, events.time_unit. If events.fields.value is set, every record needs a whole number " +
	"there; with events.decimals, any number will do")
