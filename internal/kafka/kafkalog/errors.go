package kafkalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/segmentio/kafka-go"
)

var (
	// ErrUnreachable is returned by Dial when no broker of the list could be reached: the name does
	// not resolve, nothing listens, or the network drops the packets.
	ErrUnreachable = errors.New("no broker reachable")
	// ErrRefused is returned by Dial when a broker was reached but refused the connection: TLS or
	// SASL do not match, or no answer came. The text says what to check.
	ErrRefused = errors.New("broker refused the connection")
	// ErrTopicExists is returned by CreateTopics for a topic that is already there.
	ErrTopicExists = errors.New("topic exists")
	// ErrReplication is returned by CreateTopics where a topic was to have more replicas than the
	// cluster has brokers; the text has both numbers.
	ErrReplication = errors.New("too few brokers")
	// ErrUnknownTopic is returned for a topic or partition that the cluster does not have.
	ErrUnknownTopic = errors.New("unknown topic or partition")
	// ErrOffsetOutOfRange is returned when the wanted offset lies below the start of the log
	// (retention or deletion took the records) or above its end (the log was truncated or the topic
	// created anew).
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrForbidden says that access control does not allow the user what was asked for; mostly as a
	// *DeniedError, which says what. The text of that begins with this one: of errors of an
	// engine's workers only the text is known.
	ErrForbidden = errors.New("the brokers do not allow this user")
	// ErrFenced is returned by a Producer once another producer has taken its transactional id
	// (error 47 or 90).
	ErrFenced = errors.New("producer fenced by a newer one")
	// ErrSequence is returned when the partition does not continue where this producer's
	// acknowledged records end, and the batch is not in the log: acknowledged records were lost, or
	// the broker forgot the producer. Read the log again before writing more.
	ErrSequence = errors.New("log does not continue this producer's records")
	// ErrTooLarge is returned for a message that does not fit in one batch. The limits are
	// Config.MaxBatchBytes here and max.message.bytes of the topic.
	ErrTooLarge = errors.New("message too large")
	// ErrUnknownOutcome is returned by a Producer that has failed before in a way that leaves it
	// open whether the records were written. Make a new Producer and read the log.
	ErrUnknownOutcome = errors.New("earlier append has an unknown outcome")
	// ErrCorrupt is returned for bytes from a broker that break the protocol.
	ErrCorrupt = errors.New("corrupt response")
	// ErrClosed is returned by calls on a closed Client, Fetcher or Producer.
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
	if code == 0 {
		return nil
	}
	if kafka.Error(code) == kafka.OffsetNotAvailable {
		return fmt.Errorf("error %d from the broker: %w (if this lasts, fewer replicas are in sync than min.insync.replicas)", code, kafka.Error(code))
	}
	return fmt.Errorf("error %d from the broker: %w", code, kafka.Error(code))
}

// isCode reports whether err carries one of the given Kafka error codes.
func isCode(err error, codes ...kafka.Error) bool {
	var code kafka.Error
	return errors.As(err, &code) && slices.Contains(codes, code)
}
