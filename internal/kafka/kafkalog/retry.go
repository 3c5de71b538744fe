package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	firstPause = 5 * time.Millisecond
	maxPause   = 250 * time.Millisecond
)

// pause returns the time to wait before try n (0, 1, …): 5 ms, doubled each time up to 250 ms.
func pause(n int) time.Duration {
	return min(firstPause<<min(n, 6), maxPause)
}

// sleep waits for d, or until ctx ends: then it returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// persist calls try until it succeeds, fails with a final error, ctx ends or RetryFor is over.
func (c *Client) persist(ctx context.Context, doing string, try func() error) error {
	start := time.Now()
	call := new(trouble)
	defer c.cfg.health.over(call)
	for n := 0; ; n++ {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
		}
		c.cfg.health.note(call, start, doing, err)
		if !retriableDial(err) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		if time.Since(start) > c.cfg.RetryFor {
			return fmt.Errorf("%s: giving up after %s: %w", doing, c.cfg.RetryFor, err)
		}
		if err := sleep(ctx, pause(n)); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
}

// persistKnown is persist for what asks about a topic: it fails with ErrUnknownTopic once the
// cluster has not known the topic for topicGrace.
func (c *Client) persistKnown(ctx context.Context, doing string, try func() error) error {
	var missing absence
	return c.persist(ctx, doing, func() error {
		err := try()
		if missing.lasts(err, topicGrace) {
			return ErrUnknownTopic
		}
		return err
	})
}

// retriableDial reports what retriable reports, for errors that may come from dialing: a broker
// that restarts hangs up at any step and is worth another try, a broker that refuses will refuse
// again.
func retriableDial(err error) bool {
	var st *stageError
	if errors.As(err, &st) {
		return st.transient()
	}
	return retriable(err)
}

// retriable reports whether err may go away by asking again, after a refresh of the metadata: every
// failure of the network, and the errors of brokers that are about leadership, start-up or
// replicas.
func retriable(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.Is(err, ErrClosed), errors.Is(err, ErrRefused), errors.Is(err, ErrUnknownTopic), errors.As(err, new(*finalError)):
		return false
	}
	var denied *DeniedError
	if errors.As(err, &denied) {
		return denied.had
	}
	var code kafka.Error
	if !errors.As(err, &code) {
		return true
	}
	return retriableCode(code)
}

func retriableCode(code kafka.Error) bool {
	switch code {
	case kafka.ReplicaNotAvailable, kafka.BrokerNotAvailable, kafka.ConcurrentTransactions, kafka.Unknown:
		return true
	case kafka.InvalidMessage:
		// The batches of this package have a correct checksum; after damage on the way another try
		// may succeed.
		return true
	}
	return code.Temporary()
}

// absence is how long answers have said, one after the other, that a topic or partition does not
// exist. A broker that has just started says so of what it does not know yet, perhaps at the end of
// a call that has waited for it for minutes: the time counts from the first such answer in a row,
// not from the beginning of the call.
type absence struct{ since time.Time }

// lasts takes the outcome of the latest try, and reports whether the absence has lasted for longer
// than grace. Any other outcome ends it.
func (a *absence) lasts(err error, grace time.Duration) bool {
	if !isCode(err, kafka.UnknownTopicOrPartition) {
		a.since = time.Time{}
		return false
	}
	if a.since.IsZero() {
		a.since = time.Now()
	}
	return time.Since(a.since) > grace
}

// finalError ends a retry loop, whatever error it wraps.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }
