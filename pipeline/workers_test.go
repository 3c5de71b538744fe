package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// The error is the cause of a job's end, not that following control was interrupted by it.
func TestTheErrorOfAJobIsTold(t *testing.T) {
	broker := deploytest.Start(t)
	d := deploy(t, deploytest.Config(broker.Addr()), time.Now(), 1)
	broken := errors.New("the job is broken")
	for i := range 20 { // follow is in another place each time
		w := &Workers{Engine: func(context.Context, *beam.Pipeline, Job) error {
			time.Sleep(time.Duration(i) * 200 * time.Microsecond)
			return broken
		}}
		if _, err := Run(t.Context(), d, RunOptions{Workers: w}); !errors.Is(err, broken) {
			t.Fatalf("Run = %v, want %v", err, broken)
		}
	}
}

// The code of a worker's error decides, wherever an engine puts its text. The words of a text
// decide nothing: Flink and Java may use any.
func TestTheCodeOfAWorkersErrorDecides(t *testing.T) {
	for _, c := range workerCodes {
		text := withCode(fmt.Errorf("spending in shard 3: %w: and why", c.err)).Error()
		rest, coded := splitCode("java.lang.RuntimeException: Error received from SDK harness: DoFn[UID:6] failed:\n" +
			text)
		if !errors.Is(coded, c.err) || strings.Contains(rest, c.code+"]") || !strings.HasSuffix(rest,
			"failed:\nspending in shard 3: "+c.err.Error()+": and why") {
			t.Errorf("%s: %v, %q", c.code, coded, rest)
		}
		if _, coded := splitCode("java.io.IOException: " + c.err.Error()); coded != nil {
			t.Errorf("words of %s: %v", c.code, coded)
		}
	}
	if err := errors.New("a disk is full"); !errors.Is(withCode(err), err) || withCode(err).Error() != err.Error() {
		t.Errorf("another error has a code: %v", withCode(err))
	}
	opened := openWithCode(func(context.Context) (int, error) { return 0, fmt.Errorf("opening: %w", ErrLogFault) })
	if _, err := opened(t.Context()); !errors.Is(err, ErrLogFault) || !strings.HasPrefix(err.Error(),
		"[tollgate:log-fault] ") {
		t.Errorf("opening a stage: %v", err)
	}
}

// The next turn waits for partitions whose records are behind the clock, but not for silent ones:
// otherwise a last record of 1970 would postpone every alarm for ever.
func TestASilentPartitionPutsNoAlarmOff(t *testing.T) {
	closed := time.UnixMilli(1e12)
	stamp := func(ago time.Duration) int64 { return closed.Add(-ago).UnixMilli() }
	cuts := []schemas.Cut{{AppendTime: stamp(time.Minute)}, {AppendTime: stamp(time.Hour)}, {AppendTime: 0, Idle: true},
		{AppendTime: calendar.Never}}
	if got := delay(cuts, closed); got != time.Hour {
		t.Errorf("the records are %v behind the clock, want 1h", got)
	}
	cuts[2].Lag = (2 * time.Hour).Milliseconds() // but the clock is set back by the lag of a silent one
	if got := delay(cuts, closed); got != 2*time.Hour {
		t.Errorf("the records are %v behind the clock, want 2h", got)
	}
}

// A worker whose configuration cannot be read fails with that error, the run and the code that ends
// it.
func TestAWorkerThatCannotOpenItsRunSaysWhy(t *testing.T) {
	unreadable := fmt.Errorf("opening tollgate.yaml: %w", ErrHeaderMismatch)
	const id = "000102030405060708090a0b0c0d0e0f"
	open := opener(func(string) (*Deployment, error) { return nil, unreadable }, slog.New(slog.DiscardHandler))
	_, err := open(transforms.Run{ID: id, Terms: `{"ID": "` + id + `"}`})
	if err == nil {
		t.Fatal("it ran")
	}
	if _, coded := splitCode(err.Error()); !errors.Is(coded, ErrHeaderMismatch) || !strings.Contains(err.Error(),
		"opening run "+id) {
		t.Errorf("the worker says %v", err)
	}
}
