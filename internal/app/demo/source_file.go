package demo

import (
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// MaxRecordBytes is the maximum length of a file's record, which must fit a message of the broker.
// A longer record is loaded truncated and dead-lettered as oversized.
const MaxRecordBytes = 900_000

// FileOptions configure the reading of a user's file.
type FileOptions struct {
	Path       string
	Format     event.Format // without the settings from the head of the file
	NoUser     string       // as Settings.NoUser
	Header     bool
	From, To   time.Time // zero: from the data
	Window     time.Duration
	SortMemory int // bytes; 0: the default of package eventfile
}

// File is a user's file as a source. Close it.
type File struct {
	opt      FileOptions
	data     *eventfile.Dataset
	format   event.Format
	from, to time.Time
	faults   *eventfile.Faults
	unnamed  uint64
}

// OpenFile reads the whole file once and sorts it. Errors name the path.
func OpenFile(opt FileOptions) (*File, error) {
	f := &File{opt: opt, faults: eventfile.NewFaults(opt.Format)}
	f.opt.Format.MaxRecordBytes = MaxRecordBytes
	if opt.NoUser == event.NoUserEach {
		f.opt.Format.NoUser = opt.NoUser
	}
	read := eventfile.OptionsOf(f.opt.Format, opt.Header)
	read.Memory = opt.SortMemory
	data, err := eventfile.Open(opt.Path, read, f.clock)
	if err != nil {
		return nil, err
	}
	f.data = data
	f.setRange()
	return f, nil
}

// Unnamed returns the number of records without a user, however they are treated.
func (f *File) Unnamed() uint64 { return f.unnamed + f.faults.Unnamed() }

// NoUsers reports whether no record has a user, although records without one are accepted or
// skipped.
func (f *File) NoUsers() bool {
	if f.opt.NoUser == SkipNoUser {
		return f.unnamed > 0 && f.data.Timed == 0
	}
	return f.unnamed > 0 && f.data.Timed == int64(f.unnamed)
}

// Records returns the number of records in the file, including broken ones.
func (f *File) Records() int64 { return f.data.Records }

// NoRecords returns eventfile.ErrNoRecords if the file has no records.
func (f *File) NoRecords() error {
	if f.data.Records > 0 {
		return nil
	}
	return fmt.Errorf("reading input file %s: %w", eventfile.Name(f.opt.Path), eventfile.NoRecords(f.opt.Header &&
		!f.data.Empty))
}

// Stretched describes the distance between the first and the last event. It shows times, for the
// holder of the file only.
func (f *File) Stretched() string {
	d := f.data
	return fmt.Sprintf("the events are spread from %s (%s %d) to %s (%s %d): take larger windows (--window), or leave "+
		"out what is far away (--from, --to)",
		f.stamp(d.First), d.Unit, d.FirstLine, f.stamp(d.Last), d.Unit, d.LastLine)
}

// Close frees the resources for sorting.
func (f *File) Close() error { return f.data.Close() }

// clock returns a function that decodes a record's event time as the pipeline will.
func (f *File) clock(head eventfile.Head) (eventfile.Clock, error) {
	f.format = head.Complete(f.opt.Format)
	f.faults.Begin(head)
	read := f.format
	if f.opt.NoUser != "" {
		read.NoUser = event.NoUserEach // otherwise such a record is broken
	}
	decoder, err := event.NewDecoder(read)
	if err != nil {
		return nil, err
	}
	var decoded event.Event
	return func(r eventfile.Record) (int64, bool) {
		if err := decoder.Decode(r.Value, &decoded); err != nil {
			f.faults.Add(err, r)
			return 0, false
		}
		f.faults.Event(&decoded, r)
		skip := f.opt.NoUser == SkipNoUser
		if len(decoded.User) == 0 || skip && eventfile.BlankUser(decoded.User) {
			if f.unnamed++; skip {
				return eventfile.LeftOut, false
			}
		}
		return decoded.Millis, true
	}, nil
}

// SetWindow changes the size of windows, and with it the range that contains the data.
func (f *File) SetWindow(size time.Duration) {
	f.opt.Window = size
	f.setRange()
}

// setRange sets the range to the windows that contain the data unless it was given. They begin in
// 1970 at the earliest: an earlier time is usually an unset date.
func (f *File) setRange() {
	f.from, f.to = f.opt.From, f.opt.To
	window := f.opt.Window.Milliseconds()
	if f.from.IsZero() {
		if f.data.Timed == 0 {
			f.to = time.Time{}
			return
		}
		first := max(f.data.First, 0)
		if !f.to.IsZero() && first >= f.to.UnixMilli() {
			first = max(f.to.UnixMilli()-1, 0) // no event is before --to: one window without events
		}
		f.from = time.UnixMilli(first - first%window).UTC()
	}
	if f.to.IsZero() {
		if f.data.Timed == 0 {
			f.from = time.Time{}
			return
		}
		last := max(f.data.Last, f.from.UnixMilli())
		f.to = time.UnixMilli(last - last%window + window).UTC()
	}
}

// Traits returns the traits of a sorted file: nothing is late, and every time is trusted.
func (f *File) Traits() Traits { return Traits{Format: f.format, AcceptFuture: true, Partitions: 1} }

// Range returns the requested range or the windows from the first to the last event; zero without
// events.
func (f *File) Range() (from, to time.Time) { return f.from, f.to }

// Each calls fn with the records in order of event time.
func (f *File) Each(fn func(kafkalog.Message) error) error {
	err := f.data.Each(func(e eventfile.Entry) error {
		m := kafkalog.Message{Value: e.Value, Timestamp: kafkalog.At(e.Millis)}
		if m.Value == nil {
			m.Value = []byte{} // nil would be a tombstone
		}
		return fn(m)
	})
	if err != nil {
		return fmt.Errorf("loading input file %s: %w", eventfile.Name(f.opt.Path), err)
	}
	return nil
}

// Faults returns the broken records.
func (f *File) Faults() *eventfile.Faults { return f.faults }

// NoEvents reports whether no record can be used.
func (f *File) NoEvents() bool { return f.data.Timed == 0 }

// BeforeTime reports whether every event is before 1970.
func (f *File) BeforeTime() bool { return f.data.Last < 0 }

// stamp formats a time of an event.
func (f *File) stamp(millis int64) string {
	layout := time.RFC3339
	if f.format.WallZone != "" {
		layout = "2006-01-02T15:04:05"
	}
	return time.UnixMilli(millis).UTC().Format(layout)
}
