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

// workerCodes are the errors that a restart cannot fix. An engine passes on a worker's error only
// as part of a text, so the text contains the code.
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
	{"opening", errOpening}, // last, because such an error can also be one of the others
}

var workerCode = regexp.MustCompile(`\[tollgate:([a-z-]+)\] `)

// coded puts the code of a worker's error before its text.
func coded(err error) error {
	for _, c := range workerCodes {
		if errors.Is(err, c.err) {
			return fmt.Errorf("[tollgate:%s] %w", c.code, err)
		}
	}
	return err
}

// codedOpen returns open with coded errors.
func codedOpen[T any](open func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		opened, err := open(ctx)
		if err != nil {
			err = coded(err)
		}
		return opened, err
	}
}

// decoded returns a text without its code, and the error for that code; nil if there is none.
func decoded(text string) (rest string, err error) {
	if m := workerCode.FindStringSubmatch(text); m != nil {
		for _, c := range workerCodes {
			if c.code == m[1] {
				err = c.err
			}
		}
	}
	return workerCode.ReplaceAllString(text, ""), err
}
