package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// copy writes record after record.
func (r *Replay) copy(ctx context.Context, drain <-chan struct{}) error {
	var decoded event.Event
	for {
		select {
		case <-drain:
			r.result.Drained = true
			return r.partitions.flush(ctx)
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		record, err := r.source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, eventfile.ErrContainer) {
			return r.damaged(ctx, err)
		}
		if err != nil {
			return err
		}
		if record.Digest != nil {
			if r.result.FirstLeftOut == 0 {
				r.result.FirstLeftOut = record.Line
			}
			continue
		}
		if err := r.take(ctx, record, &decoded); err != nil {
			return err
		}
		r.tell()
	}
	switch {
	case !r.timed && len(r.waiting) > 0:
		return errNoTime
	case r.result.Written == 0 && r.result.FirstLeftOut == 0:
		return eventfile.NoRecords(r.options.Header)
	}
	return r.partitions.flush(ctx)
}

// damaged writes what was read before a container broke off.
func (r *Replay) damaged(ctx context.Context, err error) error {
	if flushed := r.partitions.flush(ctx); flushed != nil {
		return errors.Join(err, flushed)
	}
	return fmt.Errorf("%w: the records before that (%s) are on the topic", err, terminal.Number(float64(r.result.Written), 0))
}

// take writes one record, or keeps it until there is a time for it.
func (r *Replay) take(ctx context.Context, record eventfile.Record, decoded *event.Event) error {
	user := record.Value // a broken record has no user: any partition will do
	err := r.decoder.Decode(record.Value, decoded)
	broken := err != nil
	switch {
	case err == nil:
		// A broker that compresses itself refuses times before 1970, with an error that names no
		// cause.
		user, r.last = decoded.User, max(decoded.Millis, 0)
		if !r.timed {
			r.timed = true
			for _, w := range r.waiting {
				if err := r.write(ctx, w.Value, w.Value, true); err != nil {
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
	return r.write(ctx, user, record.Value, broken)
}

// write writes a record. A broken one has no time of its own that could keep it from being counted.
func (r *Replay) write(ctx context.Context, user, value []byte, broken bool) error {
	if wait := r.pace.next(time.Now()); wait > 0 {
		if err := r.partitions.flush(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.result.Written++
	if at := time.UnixMilli(r.last); !broken && at.Before(r.options.CountedFrom) {
		r.result.BeforeStart++
	}
	if skew := r.options.Skew; !broken && skew != nil && time.UnixMilli(r.last).After(time.Now().Add(*skew)) {
		r.result.Future++
	}
	if late := r.options.Lateness; !broken && late != nil {
		partition := r.partitions.of(user)
		newest, some := r.newest[partition]
		if some && r.last < newest-late.Milliseconds() {
			r.result.Late++
		}
		r.newest[partition] = max(newest, r.last)
	}
	if r.last < r.keptFrom {
		r.result.Expired++
	}
	return r.partitions.add(ctx, user, kafkalog.Message{Value: r.framed(value), Timestamp: kafkalog.At(r.last)})
}

// tell reports every two seconds how much of the file was read.
func (r *Replay) tell() {
	if now := time.Now(); r.options.OnProgress != nil && r.size > 0 && now.Sub(r.told) >= 2*time.Second {
		r.told = now
		r.options.OnProgress(100 * r.read.n / r.size)
	}
}
