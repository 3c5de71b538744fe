package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/demo"
	"github.com/tollgate-dp/tollgate/internal/input"
	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/internal/show"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// replaying is a file on its way to a topic.
type replaying struct {
	file     *countingReader
	size     int64 // of the file; 0 where it has none
	source   recordReader
	place    string // what a record's number counts: lines or records
	decoder  *event.Decoder
	lanes    *lanes
	pace     pace
	progress *show.Progress
	told     time.Time

	last    int64          // time of the last record that had one
	timed   bool           // there was one
	written int64          // records that lanes were given
	waiting []input.Record // records before the first time
	dropped int64          // place of the first record that was too long; 0: none

	schema  string // of a container file, else ""
	prefix  []byte // of every record on the topic: its schema's id
	scratch []byte
}

// recordReader hands out the records of a file, then io.EOF.
type recordReader interface{ Next() (input.Record, error) }

// maxWaiting bounds the records before the first usable time.
const maxWaiting = 100_000

// writeFile writes a file to a topic.
func (a *app) writeFile(ctx context.Context, f *replayFlags, client *klog.Client, to replayTo) error {
	file, err := os.Open(f.input)
	if err != nil {
		return fmt.Errorf("opening input file: %w", err)
	}
	defer file.Close()
	terminal, _ := show.Terminal(a.stderr)
	r := &replaying{file: &countingReader{r: file}, progress: show.NewProgress(a.stderr, terminal, time.Now), told: time.Now(), pace: pace{perSecond: f.rate}}
	defer r.progress.Flush()
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		r.size = info.Size()
	}
	if err := r.open(f, to); err != nil {
		return fmt.Errorf("reading input file %s: %w", f.input, err)
	}
	partitions, err := client.Partitions(ctx, to.topic)
	if err != nil {
		return fmt.Errorf("looking at topic %s: %w", to.topic, err)
	}
	if err := r.register(ctx, to); err != nil {
		return err
	}
	if r.lanes, err = newLanes(ctx, client, to.topic, partitions); err != nil {
		return err
	}
	defer r.lanes.close()
	drain, stop := a.drainOnSignal(r.progress, func() string { return "writing what was read so far, and no more of the file" })
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-drain:
			if err := client.Gone(ctx); err != nil {
				end(err)
			}
		case <-ctx.Done():
		}
	}()
	drained, err := r.copy(ctx, drain)
	if err != nil {
		return fmt.Errorf("replaying %s: %w", f.input, err)
	}
	r.report(f.input, to.topic, drained)
	return nil
}

// open finds the columns or the schema, and makes the decoder.
func (r *replaying) open(f *replayFlags, to replayTo) error {
	format, layout := to.format, input.Format(to.format.Format)
	if f.header && !layout.Tabular() {
		if f.config != "" {
			return usage(fmt.Errorf("--header is for csv and tsv, and events.format in %s is %s: a topic holds records of one format, and the file must be of it", f.config, format.Format))
		}
		return usage(errors.New("--header is for csv and tsv"))
	}
	if layout == input.Avro {
		return r.openAvro(to)
	}
	split := input.NewSplitter(r.file, layout, demo.MaxRecordBytes)
	r.source, r.place = split, "line"
	if f.header {
		first, err := split.Next()
		if errors.Is(err, io.EOF) {
			return errors.New("the file is empty: --header needs a first line")
		}
		if err != nil {
			return err
		}
		names, err := input.ParseHeader(layout, first.Value)
		if err != nil {
			return err
		}
		if len(format.Columns) > 0 && !slices.Equal(names, format.Columns) {
			return fmt.Errorf("its header does not name the columns that were configured (%d and %d of them, in this order)", len(names), len(format.Columns))
		}
		format.Columns = names
	}
	var err error
	r.decoder, err = event.NewDecoder(format)
	return err
}

// copy writes record after record; drained says that a signal ended it.
func (r *replaying) copy(ctx context.Context, drain <-chan struct{}) (drained bool, err error) {
	var decoded event.Event
	for {
		select {
		case <-drain:
			return true, r.lanes.flush(ctx)
		case <-ctx.Done():
			return false, ctx.Err()
		default:
		}
		record, err := r.source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, input.ErrContainer) {
			return false, r.damaged(ctx, err)
		}
		if err != nil {
			return false, err
		}
		if record.Digest != nil {
			if r.dropped == 0 {
				r.dropped = record.Line
			}
			continue
		}
		if err := r.take(ctx, record, &decoded); err != nil {
			return false, err
		}
		r.tell()
	}
	if !r.timed && len(r.waiting) > 0 {
		return false, errNoTime
	}
	return false, r.lanes.flush(ctx)
}

var errNoTime = errors.New("no record has a time that can be used: look at the names of the fields, and at the unit of times")

// damaged writes what was read before a container broke off.
func (r *replaying) damaged(ctx context.Context, err error) error {
	if flushed := r.lanes.flush(ctx); flushed != nil {
		return errors.Join(err, flushed)
	}
	return fmt.Errorf("%w: the %s records before that are on the topic", err, show.Number(float64(r.written), 0))
}

// take writes one record, once there is a time for it.
func (r *replaying) take(ctx context.Context, record input.Record, decoded *event.Event) error {
	user := record.Value // a broken record has no user: any partition will do
	switch err := r.decoder.Decode(record.Value, decoded); {
	case err == nil:
		// A broker that compresses itself refuses times before 1970, with an error that names no cause.
		user, r.last = decoded.User, max(decoded.Millis, 0)
		if !r.timed {
			r.timed = true
			for _, w := range r.waiting {
				if err := r.write(ctx, w.Value, w.Value); err != nil {
					return err
				}
			}
			r.waiting = nil
		}
	case !errors.As(err, new(*event.Error)):
		return err
	case !r.timed:
		if len(r.waiting) == maxWaiting {
			return errNoTime
		}
		r.waiting = append(r.waiting, record)
		return nil
	}
	return r.write(ctx, user, record.Value)
}

func (r *replaying) write(ctx context.Context, user, value []byte) error {
	if wait := r.pace.next(time.Now()); wait > 0 {
		if err := r.lanes.flush(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.written++
	return r.lanes.add(ctx, user, klog.Message{Value: r.framed(value), Timestamp: klog.At(r.last)})
}

// tell says now and then how far it is, by what was read of the file.
func (r *replaying) tell() {
	if now := time.Now(); r.size > 0 && now.Sub(r.told) >= 2*time.Second {
		r.told = now
		r.progress.Note("%d %% of the file, %s", 100*r.file.read/r.size, r.progress.Elapsed())
	}
}

func (r *replaying) report(name, topic string, drained bool) {
	if r.dropped > 0 {
		r.progress.Note("records longer than %s bytes were left out; the first is in %s %s", show.Number(demo.MaxRecordBytes, 0), r.place, show.Number(float64(r.dropped), 0))
	}
	if drained {
		r.progress.Note("stopped by a signal: what was written to topic %s stays there, and writing the file again would write it twice", topic)
		return
	}
	r.progress.Note("all of %s is on topic %s, %s", name, topic, r.progress.Elapsed())
}

// countingReader knows how much was read.
type countingReader struct {
	r    io.Reader
	read int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.read += int64(n)
	return n, err
}

// pace spreads records over time.
type pace struct {
	perSecond float64 // 0: no limit
	begin     time.Time
	sent      int64
}

// next counts one record, and says how long to wait before it. Waits shorter
// than a timer is good for are put together.
func (p *pace) next(now time.Time) time.Duration {
	if p.perSecond == 0 {
		return 0
	}
	if p.sent == 0 {
		p.begin = now
	}
	due := p.begin.Add(time.Duration(float64(p.sent) / p.perSecond * float64(time.Second)))
	p.sent++
	if wait := due.Sub(now); wait > 10*time.Millisecond {
		return wait
	}
	return 0
}
