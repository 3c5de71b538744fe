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
	// ErrUnreachable: Dial has reached no broker of the list.
	ErrUnreachable = errors.New("no broker reachable")
	// ErrRefused: Dial has reached a broker, but TLS, SASL or the protocol do not match, or no
	// answer came. The text says what to check.
	ErrRefused = errors.New("broker refused the connection")
	// ErrTopicExists: CreateTopics was to make a topic that is already there.
	ErrTopicExists = errors.New("topic exists")
	// ErrReplication: CreateTopics was to make more replicas than there are brokers.
	ErrReplication = errors.New("too few brokers")
	// ErrUnknownTopic: the cluster does not have the topic or partition.
	ErrUnknownTopic = errors.New("unknown topic or partition")
	// ErrOffsetOutOfRange: the wanted offset lies below the start of the log (retention or deletion
	// took the records) or above its end (it was truncated, or the topic created anew).
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrForbidden: access control does not allow the user what was asked for; mostly as a
	// *DeniedError, whose text begins with this one: of errors of an engine's workers only the text
	// is known.
	ErrForbidden = errors.New("the brokers do not allow this user")
	// ErrFenced: another producer has taken this one's transactional id (error 47 or 90).
	ErrFenced = errors.New("producer fenced by a newer one")
	// ErrSequence: the partition does not continue where this producer's acknowledged records end,
	// and the batch is not in the log. Acknowledged records were lost, or the broker forgot the
	// producer. Read the log again before writing more.
	ErrSequence = errors.New("log does not continue this producer's records")
	// ErrTooLarge: a message does not fit in a batch of Config.MaxBatchBytes, or of the topic's
	// max.message.bytes.
	ErrTooLarge = errors.New("message too large")
	// ErrUnknownOutcome: the Producer has failed before in a way that leaves it open whether the
	// records were written. Make a new Producer and read the log.
	ErrUnknownOutcome = errors.New("earlier append has an unknown outcome")
	// ErrCorrupt: bytes from a broker break the protocol.
	ErrCorrupt = errors.New("corrupt response")
	// ErrClosed: the Client, Fetcher or Producer is closed.
	ErrClosed = errors.New("client closed")
)

// Causes returns every error of a type in the tree of err, where errors.As finds the first only.
func Causes[T error](err error) (all []T) {
	switch e := err.(type) { //nolint:errorlint // every branch of the tree is looked at
	case T:
		return []T{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, Causes[T](one)...)
		}
	case interface{ Unwrap() error }:
		return Causes[T](e.Unwrap())
	}
	return all
}

// codeError turns an error code of a response into an error, nil for 0. The error has only the code
// and its name, because a broker's free text may quote what was sent.
func codeError(code int16) error {
	switch kafka.Error(code) {
	case 0:
		return nil
	case kafka.OffsetNotAvailable:
		return fmt.Errorf("error %d from the broker: %w (if this lasts, fewer replicas are in sync than min.insync.replicas)", code, kafka.Error(code))
	}
	return fmt.Errorf("error %d from the broker: %w", code, kafka.Error(code))
}

// isCode reports whether err carries one of the given Kafka error codes.
func isCode(err error, codes ...kafka.Error) bool {
	var code kafka.Error
	return errors.As(err, &code) && slices.Contains(codes, code)
}

// The operations that access control allows or forbids, by their names in kafka-acls.sh.
const (
	Read            = "Read"
	Write           = "Write"
	Create          = "Create"
	Describe        = "Describe"
	DescribeConfigs = "DescribeConfigs"
)

// DeniedError names a right that a broker denied. It is an ErrForbidden.
type DeniedError struct {
	Operation string
	Resource  string // "topic" or "transactional id"
	Name      string // of the resource
	code      kafka.Error
}

// Error implements error.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%v %s on %s %q (error %d)", ErrForbidden, e.Operation, e.Resource, e.Name, e.code)
}

// Unwrap makes every DeniedError an ErrForbidden.
func (e *DeniedError) Unwrap() []error { return []error{ErrForbidden, e.code} }

// denied names the right that is missing if err is a code that says so: an operation on a topic, or
// Write on a transactional id. It returns any other error as it is.
func denied(err error, operation, topic, transactionalID string) error {
	e := &DeniedError{Operation: operation, Resource: "topic", Name: topic}
	switch {
	case isCode(err, kafka.TransactionalIDAuthorizationFailed):
		e.Operation, e.Resource, e.Name = Write, "transactional id", transactionalID
	case !isCode(err, kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed):
		return err
	}
	errors.As(err, &e.code)
	return e
}

// pause returns the time to wait before try n (0, 1, …).
func pause(n int) time.Duration { return min(5*time.Millisecond<<min(n, 6), 250*time.Millisecond) }

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
	defer c.health.over(call)
	for n := 0; ; n++ {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
		}
		c.health.note(call, start, doing, err)
		if !retriable(err) {
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

// retriable reports whether err may go away by asking again, after a refresh of the metadata: a
// broker that has not refused a connection, every failure of the network, and the errors of brokers
// that are about leadership, start-up or replicas.
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

// retriableCode counts InvalidMessage: a batch was damaged on the way.
func retriableCode(code kafka.Error) bool {
	return code.Temporary() || slices.Contains([]kafka.Error{kafka.ReplicaNotAvailable, kafka.BrokerNotAvailable, kafka.ConcurrentTransactions, kafka.Unknown, kafka.InvalidMessage}, code)
}

// absence is how long answers have said, one after the other, that a topic or partition does not
// exist. A broker that has just started says so of what it does not know yet.
type absence struct{ since time.Time }

// lasts takes the outcome of the latest try, and reports whether the absence is longer than grace.
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
