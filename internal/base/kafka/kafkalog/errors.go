package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
)

var (
	// ErrUnreachable means that Dial reached none of the brokers in Config.Brokers.
	ErrUnreachable = errors.New("no broker reachable")
	// ErrRefused means that a broker was reached, but TLS, SASL or the protocol does not match, or
	// the broker does not respond.
	ErrRefused = errors.New("broker refused the connection")
	// ErrTopicExists means that a topic with this name already exists.
	ErrTopicExists = errors.New("topic exists")
	// ErrReplication means that a topic to create needs more replicas than there are brokers.
	ErrReplication = errors.New("too few brokers")
	// ErrUnknownTopic means that the cluster does not have the topic or partition.
	ErrUnknownTopic = errors.New("unknown topic or partition")
	// ErrOffsetOutOfRange means that an offset is below the start of the log or above its end.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrForbidden means that access control does not let this user perform the operation.
	ErrForbidden = errors.New("the brokers do not allow this user to do so")
	// ErrFenced means that another producer has taken this transactional id (error 47 or 90).
	ErrFenced = errors.New("producer fenced by a newer one")
	// ErrSequence means that the partition does not continue after the acknowledged records of this
	// producer: records were lost, or the broker forgot the producer. Read the log before writing.
	ErrSequence = errors.New(
		"log does not continue this producer's records: it has lost some, or the topic was created again")
	// ErrTooLarge means that a message exceeds Config.MaxBatchBytes or the topic's
	// max.message.bytes.
	ErrTooLarge = errors.New("message too large")
	// ErrUnknownOutcome means that an earlier append may or may not have been written. Create a new
	// Producer and read the log.
	ErrUnknownOutcome = errors.New("earlier append has an unknown outcome")
	// ErrCorrupt means that bytes from a broker violate the protocol.
	ErrCorrupt = errors.New("corrupt response")
	// ErrClosed means that the Client, Fetcher or Producer is closed.
	ErrClosed = errors.New("client closed")
)

// codeError returns the error for the error code of a response, or nil for 0. It omits the broker's
// message, which may quote the request.
func codeError(code int16) error {
	switch kafka.Error(code) {
	case 0:
		return nil
	case kafka.OffsetNotAvailable:
		return fmt.Errorf("%w (if this lasts, fewer replicas are in sync than min.insync.replicas)", kafka.Error(code))
	case kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed, kafka.TransactionalIDAuthorizationFailed:
		return fmt.Errorf("%w: %w", ErrForbidden, kafka.Error(code))
	}
	return fmt.Errorf("error %d from the broker: %w", code, kafka.Error(code))
}

func isCode(err error, code kafka.Error) bool {
	var brokerCode kafka.Error
	return errors.As(err, &brokerCode) && brokerCode == code
}

func retryDelay(n int) time.Duration { return min(5*time.Millisecond<<min(n, 6), 250*time.Millisecond) }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// persist calls try until it succeeds, fails with a final error, ctx ends or RetryFor has passed.
func (c *Client) persist(ctx context.Context, doing string, try func() error) error {
	start := time.Now()
	call := new(trouble)
	defer c.health.resolved(call)
	for n := 0; ; n++ {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
		}
		c.health.failed(call, start, doing, err)
		if !retriable(err) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		if time.Since(start) > c.cfg.RetryFor {
			return fmt.Errorf("%s: giving up after %s: %w", doing, c.cfg.RetryFor, err)
		}
		if err := sleep(ctx, retryDelay(n)); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
}

// persistKnown is persist for a request about a topic. It returns ErrUnknownTopic once the topic
// has been unknown for longer than topicGrace.
func (c *Client) persistKnown(ctx context.Context, doing string, try func() error) error {
	var unknown absence
	return c.persist(ctx, doing, func() error {
		err := try()
		if unknown.lasts(err, topicGrace) {
			return ErrUnknownTopic
		}
		return err
	})
}

// retriable reports whether a retry with fresh metadata may succeed.
func retriable(err error) bool {
	var dialing *stageError
	var code kafka.Error
	switch {
	case errors.As(err, &dialing):
		return dialing.transient()
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, ErrClosed), errors.Is(err, ErrUnknownTopic), errors.As(err, new(*finalError)):
		return false
	}
	return !errors.As(err, &code) || retriableCode(code)
}

// retriableCode reports whether a retry may succeed. For example, InvalidMessage may mean that a
// batch was damaged in transit.
func retriableCode(code kafka.Error) bool {
	return code.Temporary() || slices.Contains([]kafka.Error{kafka.ReplicaNotAvailable, kafka.BrokerNotAvailable,
		kafka.ConcurrentTransactions, kafka.Unknown, kafka.InvalidMessage}, code)
}

// absence measures how long all responses have reported that a topic or partition does not exist. A
// broker that has just started reports this for topics that it has not loaded yet.
type absence struct{ since time.Time }

// lasts records the latest outcome, and reports whether the absence has lasted longer than grace.
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
