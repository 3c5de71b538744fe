package pipeline

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// errOpening marks errors that prevent a worker from opening a run.
var errOpening = errors.New("a worker could not start")

// workerCodes lists the errors that a restart cannot fix, with their codes. An engine passes on a
// worker's error only as text, so the text contains the code.
var workerCodes = []struct {
	code string
	err  error
}{
	{"header-mismatch", deployment.ErrHeaderMismatch},
	{"other-promise", deployment.ErrOtherPromise},
	{"log-fault", deployment.ErrLogFault},
	{"conflict", deployment.ErrConflict},
	{"stopped", deployment.ErrStopped},
	{"counts-schema", deployment.ErrCountsSchema},
	{"topic-settings", deployment.ErrTopicSettings},
	{"not-initialised", deployment.ErrNotInitialised},
	{"forbidden", kafkalog.ErrForbidden},
	{"refused", kafkalog.ErrRefused},
	{"opening", errOpening}, // last, because such an error can wrap one of the others
}

var workerCode = regexp.MustCompile(`\[tollgate:([a-z-]+)\] `)

// withCode adds the code of a worker's error before the error text.
func withCode(err error) error {
	for _, c := range workerCodes {
		if errors.Is(err, c.err) {
			return fmt.Errorf("[tollgate:%s] %w", c.code, err)
		}
	}
	return err
}

// openWithCode returns a function that calls open and adds codes to its errors.
func openWithCode[T any](open func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		opened, err := open(ctx)
		if err != nil {
			err = withCode(err)
		}
		return opened, err
	}
}

// splitCode removes the code from a text. It returns the message and the error with that code.
func splitCode(text string) (message string, err error) {
	if m := workerCode.FindStringSubmatch(text); m != nil {
		for _, c := range workerCodes {
			if c.code == m[1] {
				err = c.err
			}
		}
	}
	return workerCode.ReplaceAllString(text, ""), err
}
