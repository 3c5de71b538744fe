package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// longestWait is the longest time that a record waits to be written together with others: the next
// record of a slow pipe may take hours.
const longestWait = 200 * time.Millisecond

// readAhead is how many records may have been read but not yet processed.
const readAhead = 1024

// read is a result of source.Next.
type read struct {
	record eventfile.Record
	err    error
}

// readSource reads the source in a goroutine, until done is closed.
func (r *Replay) readSource(done <-chan struct{}) <-chan read {
	out := make(chan read, readAhead)
	go func() {
		for {
			record, err := r.source.Next()
			select {
			case out <- read{record, err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// errDrained ends the copying early.
var errDrained = errors.New("drained")

// next returns the next record. While there is none, it writes the pending ones.
func (r *Replay) next(ctx context.Context, drain <-chan struct{}, records <-chan read) (eventfile.Record, error) {
	for {
		select {
		case <-drain:
			return eventfile.Record{}, errDrained
		default:
		}
		switch waiting := r.partitions.Records > 0; {
		case !waiting:
			r.due = nil
		case r.due == nil:
			r.due = time.After(longestWait)
		}
		select {
		case <-drain:
		case <-ctx.Done():
			return eventfile.Record{}, ctx.Err()
		case <-r.due:
			if err := r.partitions.Flush(ctx); err != nil {
				return eventfile.Record{}, err
			}
		case next := <-records:
			return next.record, next.err
		}
	}
}

// copy writes the records of the source.
func (r *Replay) copy(ctx context.Context, drain <-chan struct{}) error {
	done := make(chan struct{})
	defer close(done)
	records := r.readSource(done)
	var decoded event.Event
	for {
		record, err := r.next(ctx, drain, records)
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, errDrained) {
			r.result.Drained = true
			return r.partitions.Flush(ctx)
		}
		if errors.Is(err, eventfile.ErrContainer) {
			return r.fail(ctx, err)
		}
		if err != nil {
			return err
		}
		if record.Cut {
			if r.result.FirstLeftOut == 0 {
				r.result.FirstLeftOut = record.Line
			}
			continue
		}
		if record.Line == 1 && r.isHeader(record.Value) {
			return errHeader
		}
		if err := r.copyRecord(ctx, record, &decoded); err != nil {
			return err
		}
		r.reportProgress()
	}
	switch {
	case !r.timed && len(r.waiting) > 0:
		return errNoTime
	case r.result.Unnamed > 0 && !r.named:
		// The field is probably misspelt; otherwise, each record would count as a user of its own.
		return r.fail(ctx, fmt.Errorf("no record has a user in %s: correct %s", r.options.Format.User,
			r.options.UserSetting))
	case r.result.Written == 0 && r.result.FirstLeftOut == 0:
		return eventfile.NoRecords(r.options.Header)
	}
	return r.partitions.Flush(ctx)
}

// fail ends a replay with an error, after writing the records read before it.
func (r *Replay) fail(ctx context.Context, err error) error {
	if r.result.Written == 0 {
		return err
	}
	if flushed := r.partitions.Flush(ctx); flushed != nil {
		return errors.Join(err, flushed)
	}
	return fmt.Errorf("%w; the records before it (%s) are on the topic", err,
		terminal.Number(float64(r.result.Written), 0))
}

// copyRecord writes a record, or keeps it until a record has a time.
func (r *Replay) copyRecord(ctx context.Context, record eventfile.Record, decoded *event.Event) error {
	user := record.Value // of a broken record, which can go to any partition
	err := r.decoder.Decode(record.Value, decoded)
	recordFault := err != nil && r.faults.Add(err, record)
	if err == nil {
		r.faults.Event(decoded, record)
	}
	if r.leavesOut(err) {
		return nil
	}
	if err == nil && (len(decoded.User) == 0 || r.options.SkipNoUser && eventfile.BlankUser(decoded.User)) {
		r.result.Unnamed++
		if r.options.SkipNoUser {
			return nil
		}
		decoded.User = record.Value // for the partition
	} else if err == nil {
		r.named = true
	}
	switch {
	case err == nil:
		// Brokers that recompress records refuse times before 1970, with an error that does not
		// mention the time.
		user, r.last = decoded.User, max(decoded.Millis, 0)
		if !r.timed {
			if t := r.faults.Times(); t.Usual() == 0 && t.Reading() != nil {
				return fmt.Errorf("the first event would be of %s: correct events.time_unit, for example to %v",
					eventfile.Date(decoded.Millis), t.Reading())
			}
			r.timed = true
			for _, w := range r.waiting {
				if err := r.write(ctx, w.Value, w.Value); err != nil {
					return err
				}
			}
			r.waiting = nil
		}
	case !recordFault:
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

// leavesOut reports whether a record is skipped because of its value.
func (r *Replay) leavesOut(err error) bool {
	var bad *event.Error
	if !errors.As(err, &bad) || bad.Field != "value" {
		return false
	}
	return bad.Class == event.ClassSkipped && r.options.SkipNoValue || bad.Class == event.ClassBadValue &&
		r.options.SkipBadValues
}

// write writes a record to the partition of a user, and counts it if a broker may soon delete it.
func (r *Replay) write(ctx context.Context, user, value []byte) error {
	r.result.Written++
	if r.last < r.keptFrom {
		r.result.Expired++
	}
	h := fnv.New64a()
	h.Write(user) //nolint:errcheck // a hash never fails
	return r.partitions.Add(ctx, h.Sum64(), kafkalog.Message{Value: bytes.Clone(r.framed(value)),
		Timestamp: kafkalog.At(r.last)})
}

// reportProgress calls OnProgress every two seconds.
func (r *Replay) reportProgress() {
	if now := time.Now(); r.options.OnProgress != nil && r.size > 0 && now.Sub(r.reported) >= 2*time.Second {
		r.reported = now
		r.options.OnProgress(100 * r.read.n.Load() / r.size)
	}
}
