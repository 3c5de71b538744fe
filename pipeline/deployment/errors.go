package deployment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/transforms/release"
)

// ConfigError reports an invalid field of a Config. Error uses the Go names of fields; Reason can
// use others.
type ConfigError struct {
	Field string // path in Config, such as Metrics[1].Window

	format string
	args   []any // Reason formats each Setting
}

// Setting is a field of Config in the reason of a ConfigError.
type Setting struct {
	Field string // path without indices, such as Metrics.Window
	Value string // proposed value of the field; "" if there is none
}

// String formats the setting for a Go program.
func (s Setting) String() string {
	name := strings.TrimPrefix(s.Field, "Metrics.")
	if s.Value == "" {
		return name
	}
	return name + " = " + s.Value
}

// Error implements error.
func (e *ConfigError) Error() string { return e.Field + ": " + e.Reason(Setting.String) }

// Reason returns a sentence with the fault and its remedy, but without the name of the invalid
// field. name formats the settings in the sentence.
func (e *ConfigError) Reason(name func(Setting) string) string {
	args := slices.Clone(e.args)
	for i := range args {
		if s, ok := args[i].(Setting); ok {
			args[i] = name(s)
		}
	}
	return fmt.Sprintf(e.format, args...)
}

// Invalid returns an error for a field, with a reason in the format of fmt.Sprintf.
func Invalid(field, format string, args ...any) *ConfigError {
	return &ConfigError{Field: field, format: format, args: args}
}

// inMetric adds the prefix Metrics[i] to the field of an error about metric i.
func inMetric(i int, err error) error {
	var bad *ConfigError
	if errors.As(err, &bad) {
		bad.Field = strings.TrimSuffix(fmt.Sprintf("Metrics[%d].%s", i, bad.Field), ".")
	}
	return err
}

// field returns a Setting that only mentions a field in a reason.
func field(path string) Setting { return Setting{Field: path} }

// proposed returns a Setting that proposes a value for a field.
func proposed(path string, value any) Setting { return Setting{path, fmt.Sprint(value)} }

// Errors of operations on a deployment. Package pipeline documents their meanings and remedies.
var (
	ErrNotInitialised  = errors.New("the deployment is not initialised")
	ErrInitialised     = errors.New("the deployment is initialised already")
	ErrHeaderMismatch  = errors.New("the configuration does not match the deployment")
	ErrStopped         = errors.New("the deployment has stopped itself")
	ErrConflict        = release.ErrConflict
	ErrInterruptedTurn = errors.New("a turn is under way")
	ErrOpenWindows     = errors.New("windows are open")
	ErrOpenPeriod      = errors.New("a budget period is under way")
	ErrLogFault        = errors.New("a topic cannot be trusted")
	ErrCountsSchema    = errors.New("the registry does not have the schema of counts")
	ErrTopicSettings   = errors.New("a topic is not set up as it must be")
	ErrStrict          = errors.New("refused in strict mode")
	ErrNoBroker        = errors.New("no broker answers")
	ErrStuck           = errors.New("Kafka does not allow the open turn to finish")

	// ErrSuperseded means that another run, or a change, has superseded the caller: a valid EPOCH
	// follows the EPOCH of the caller. A run then ends without an error.
	ErrSuperseded = errors.New("another run has taken over")
)

// TopicError describes a fault of a topic and its repair.
type TopicError struct {
	Topic   string
	Setting string // Kafka's name of the setting, or "partitions"; "" for a fault of the topic itself
	Got     string // the actual value; if Setting is "", a predicate such as "does not exist"
	Want    string // accepted values; "" without a Setting
	Fix     string // remedy, usually a command
	Err     error  // more specific error; may be nil
}

// Error implements error.
func (e *TopicError) Error() string {
	if e.Setting == "" {
		return fmt.Sprintf("topic %s %s: %s", e.Topic, e.Got, e.Fix)
	}
	return fmt.Sprintf("topic %s: %s is %s, but must be %s: %s", e.Topic, e.Setting, e.Got, e.Want, e.Fix)
}

// Unwrap makes every TopicError an ErrTopicSettings.
func (e *TopicError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrTopicSettings}
	}
	return []error{ErrTopicSettings, e.Err}
}
