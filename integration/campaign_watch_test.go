package integration

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/schemas"
)

// seen is the state of control that the campaign needs during the faults. readTrusted checks the
// whole topic at the end.
type seen struct {
	next            int64 // offset
	epoch, run      int64 // the epoch in force, and its run
	epochs          int
	closed, settled uint64 // turns
	stops           int
	others          int // records of other kinds, which a run writes before its EPOCH
}

// begun returns how many records the starts of runs have written.
func (s seen) begun() int { return s.epochs + s.others }

// open reports whether a turn is closed and not settled.
func (s seen) open() bool { return s.closed > s.settled }

// observe applies a record by the rules of epochs.
func (s *seen) observe(r kafkalog.Record) {
	s.next = r.Offset + 1
	c, err := schemas.DecodeControl(r.Value)
	if err != nil {
		return // readTrusted reports it
	}
	switch body := c.Body.(type) {
	case *schemas.Epoch:
		s.epochs++
		if body.Run < s.run {
			return // written by an older run, which started slowly
		}
		s.epoch, s.run = r.Offset, body.Run
		s.closed = max(s.settled, s.closed)
	case *schemas.Close:
		if body.Epoch == s.epoch {
			s.closed = body.Turn
		}
	case *schemas.Settled:
		if body.Epoch == s.epoch && body.Part+1 == max(body.Parts, 1) {
			s.settled = max(s.settled, body.Turn)
		}
	case *schemas.Generation:
		s.closed = s.settled // turns closed ahead are revoked
	case *schemas.Stop:
		if body.Epoch == s.epoch {
			s.stops++
		}
	case *schemas.Header, *schemas.Recover:
	default:
		s.others++
	}
}

// watch follows a control topic, without the proxy.
type watch struct {
	mu sync.Mutex
	s  seen
}

// startWatch starts a watch, which ends with the test. It retries while the broker is away.
func startWatch(t testing.TB, broker, topic string) *watch {
	t.Helper()
	w := &watch{s: seen{epoch: -1, run: -1}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			w.follow(ctx, broker, topic)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// follow reads until something fails.
func (w *watch) follow(ctx context.Context, broker, topic string) {
	client, err := kafkalog.Dial(ctx, kafkalog.Config{Brokers: strings.Split(broker, ","), RetryFor: time.Second,
		Logger: quiet()})
	if err != nil {
		return
	}
	defer client.Close()
	for ctx.Err() == nil {
		bounds, err := client.Offsets(ctx, topic, 0)
		if err != nil {
			return
		}
		if from := w.now().next; bounds.High > from {
			err = client.ReadRange(ctx, topic, 0, from, bounds.High, func(r kafkalog.Record) error {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.s.observe(r)
				return nil
			})
			if err != nil {
				return
			}
			continue
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *watch) now() seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.s
}

// seesAll waits until the watch has read all of control.
func (c *campaign) seesAll(s *subject) {
	c.t.Helper()
	await.That(c.t, patience, "control is read to its end", func() bool {
		bounds, err := s.client.Offsets(c.t.Context(), s.config.Outputs.Control, 0)
		return err == nil && s.watch.now().next >= bounds.High
	})
}
