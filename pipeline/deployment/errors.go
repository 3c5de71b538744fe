package deployment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/transforms/release"
)

// ConfigError reports an invalid field of a Config. Its text names fields as Go does; Reason can
// name them otherwise.
type ConfigError struct {
	Field string // a path in Config, such as Metrics[1].Window

	format string
	args   []any // each Setting is written by Reason
}

// Setting is a field of Config in the reason of a ConfigError.
type Setting struct {
	Field string // without indices, such as Metrics.Window
	Value string // to give to the field; "" if none is proposed
}

// String writes the setting as a Go program has it.
func (s Setting) String() string {
	name := strings.TrimPrefix(s.Field, "Metrics.")
	if s.Value == "" {
		return name
	}
	return name + " = " + s.Value
}

// Error implements error.
func (e *ConfigError) Error() string { return e.Field + ": " + e.Reason(Setting.String) }

// Reason returns a sentence without the field: the fault and its remedy. The function name writes
// the settings in it.
func (e *ConfigError) Reason(name func(Setting) string) string {
	args := slices.Clone(e.args)
	for i := range args {
		if s, ok := args[i].(Setting); ok {
			args[i] = name(s)
		}
	}
	return fmt.Sprintf(e.format, args...)
}

// Invalid returns the error of a field, with a reason as of fmt.Sprintf.
func Invalid(field, format string, args ...any) *ConfigError {
	return &ConfigError{Field: field, format: format, args: args}
}

// inMetric completes the field of an error that was found in metric i alone.
func inMetric(i int, err error) error {
	var bad *ConfigError
	if errors.As(err, &bad) {
		bad.Field = strings.TrimSuffix(fmt.Sprintf("Metrics[%d].%s", i, bad.Field), ".")
	}
	return err
}

// field mentions a field in a reason.
func field(path string) Setting { return Setting{Field: path} }

// with proposes a value of a field in a reason.
func with(path string, value any) Setting { return Setting{path, fmt.Sprint(value)} }

var (
	// ErrNotInitialised means that the control log holds no HEADER: run Init first.
	ErrNotInitialised = errors.New("the deployment is not initialised")
	// ErrInitialised means that the control log holds a HEADER already, which never changes.
	ErrInitialised = errors.New("the deployment is initialised already")
	// ErrHeaderMismatch means that the configuration differs from the generation in force, in
	// something that only a change may alter, or nothing ever.
	ErrHeaderMismatch = errors.New("the configuration does not match the deployment")
	// ErrStopped means that the control log holds a STOP from which no operator has recovered yet.
	ErrStopped = errors.New("the deployment has stopped itself")
	// ErrConflict means that a published value differs from the value recomputed from the topics.
	ErrConflict = release.ErrConflict
	// ErrInterruptedTurn means that a deployment cannot be changed while a turn is under way: drain
	// it first.
	ErrInterruptedTurn = errors.New("a turn is under way")
	// ErrOpenWindows means that a deployment cannot be changed in the middle of windows: run it to
	// a time at which all of them end, or give them up.
	ErrOpenWindows = errors.New("windows are open")
	// ErrOpenPeriod means that the user-hash key cannot be changed within a budget period: run the
	// deployment to the end of the period.
	ErrOpenPeriod = errors.New("a budget period is under way")
	// ErrLogFault means that a topic lost, changed or never had records on which the guarantees
	// rest.
	ErrLogFault = errors.New("a topic cannot be trusted")
	// ErrCountsSchema means that consumers of counts in avro cannot read them: the registry does
	// not have the schema of counts under the id that the values carry.
	ErrCountsSchema = errors.New("the registry does not have the schema of counts")
	// ErrTopicSettings means that a topic is missing, or that its settings could lose records on
	// which the guarantees rest. Every *TopicError is one.
	ErrTopicSettings = errors.New("a topic is not set up as it must be")

	// ErrSuperseded means that another run, or a change, has superseded the caller: a valid EPOCH
	// follows the caller's own. A run then ends without an error.
	ErrSuperseded = errors.New("another run has taken over")
)

// TopicError describes a fault of a topic and its repair.
type TopicError struct {
	Topic   string
	Setting string // Kafka's name of the setting, or "partitions"; "" when the topic itself is the matter
	Got     string // the value found; without a Setting what the topic does, as in "does not exist"
	Want    string // accepted values; "" without a Setting
	Fix     string // remedy, mostly a command
	Err     error  // a more special reason; may be nil
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

// ErrStrict means that only strict mode refuses the topics: acknowledged records could be lost
// together with one broker. It accompanies ErrTopicSettings.
var ErrStrict = errors.New("refused in strict mode")

// ErrNoBroker means that no broker responded during a drain, or before a wait ended. Nothing is
// lost: the next run repeats the unfinished work.
var ErrNoBroker = errors.New("no broker answers")

// ErrStuck means that Kafka responds but does not let a draining run finish the open turn: a
// partition has no leader, for example. Nothing is lost, as with ErrNoBroker.
var ErrStuck = errors.New("Kafka does not allow the open turn to finish")
