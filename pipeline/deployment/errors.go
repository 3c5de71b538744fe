package deployment

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/transforms"
)

// ConfigError says which field of a configuration cannot be, and why.
type ConfigError struct {
	Field  string
	Reason string
}

// Error implements error.
func (e *ConfigError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Reason) }

func Invalid(field, format string, args ...any) error {
	return &ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

var (
	// ErrNotInitialised: control holds no HEADER; run Init first.
	ErrNotInitialised = errors.New("the deployment is not initialised")
	// ErrInitialised: control holds a HEADER already, which never changes.
	ErrInitialised = errors.New("the deployment is initialised already")
	// ErrHeaderMismatch: the configuration and the HEADER disagree on
	// something that must never change.
	ErrHeaderMismatch = errors.New("the configuration does not match the deployment")
	// ErrStopped: control holds a STOP that nobody has recovered from.
	ErrStopped = errors.New("the deployment has stopped itself")
	// ErrConflict: a value that was published differs from what the log gives
	// now.
	ErrConflict = transforms.ErrConflict
	// ErrInterruptedTurn: a deployment cannot be changed while a turn is under
	// way: drain it first.
	ErrInterruptedTurn = errors.New("a turn is under way")
	// ErrLogFault: a topic lost, changed or never had something that the
	// promises rest on.
	ErrLogFault = errors.New("a topic cannot be trusted")
	// ErrPromiseWeakened: a change of an earlier version has raised a part of the
	// budget, and the generations together do not keep what was promised.
	ErrPromiseWeakened = errors.New("the promise was weakened by an earlier change")
	// ErrTopicSettings: a topic is missing, or is set up so that it could lose
	// what the promises rest on. Every *TopicError is one.
	ErrTopicSettings = errors.New("a topic is not set up as it must be")

	// errSuperseded: another run's EPOCH stands behind this run's.
	ErrSuperseded = errors.New("another run has taken over")
)

// TopicError says what is wrong with a topic and how to put it right.
type TopicError struct {
	Topic   string
	Setting string // Kafka's name of it, or "partitions"; "" when the topic itself is the matter
	Got     string
	Want    string
	Fix     string
	Err     error // a more special reason; may be nil
}

// Error implements error.
func (e *TopicError) Error() string {
	if e.Setting == "" {
		return fmt.Sprintf("topic %s %s: %s", e.Topic, e.Got, e.Fix)
	}
	return fmt.Sprintf("topic %s: %s is %s, it must be %s: %s", e.Topic, e.Setting, e.Got, e.Want, e.Fix)
}

// Unwrap makes every TopicError an ErrTopicSettings.
func (e *TopicError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrTopicSettings}
	}
	return []error{ErrTopicSettings, e.Err}
}

// ErrStrict says that the topics would do, and are refused because strictness was asked for: what is acknowledged could be lost
// with one broker. It comes with ErrTopicSettings.
var ErrStrict = errors.New("refused because of strictness")

// ErrNoBroker says that a run was to be drained, or a wait was over, and no broker
// answered. Nothing is lost: what was under way is redone by the next run.
var ErrNoBroker = errors.New("no broker answers")

// ErrStuck says that a run was to be drained, and that Kafka answers and does not let
// the open turn be finished: a partition has no leader, for example. Nothing is lost,
// as with ErrNoBroker.
var ErrStuck = errors.New("Kafka does not let the open turn be finished")
