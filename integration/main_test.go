package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// roleVariable makes a copy of the test binary act as a broker or as a runner, so that both can be
// killed.
const roleVariable = "TOLLGATE_INTEGRATION_ROLE"

// brokerVariable is where a broker listens, brokerDirVariable where it keeps its log; empty: in
// memory.
const (
	brokerVariable    = "TOLLGATE_INTEGRATION_BROKER"
	brokerDirVariable = "TOLLGATE_INTEGRATION_BROKER_DIR"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVariable) {
	case "broker":
		err = brokerMain()
	case "runner":
		err = runnerMain()
	default:
		if err = await.AtOnce(4); err != nil {
			break
		}
		code := m.Run()
		theShared.close()
		os.Exit(code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// brokerMain serves until its standard input ends, so that it cannot outlive the test.
func brokerMain() error {
	broker, err := embedded.Start(embedded.Options{
		Addr: os.Getenv(brokerVariable), DataDir: os.Getenv(brokerDirVariable), Logger: quiet(),
	})
	if err != nil {
		return fmt.Errorf("starting the broker: %w", err)
	}
	fmt.Println(broker.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	broker.Close()
	return err
}

// job is the input of a runner process, on stdin.
type job struct {
	Config  pipeline.Config
	Readers int // READs that share the partitions; 0 means 1
	Bounded bool
	// CrashAt kills the process (−9) where it passes a point of the protocol while CrashTurn is
	// open, or a later one; Skip passings are let go.
	CrashAt   string
	CrashTurn uint64
	Skip      int
	// Delays holds points up: in every shard, or, by the name that inShard gives, in one.
	Delays map[string]time.Duration
	// UntilDrained is a turn that is not settled, nor any later one, before SIGTERM; 0: none.
	UntilDrained uint64
	// ForgetEvery is how often shards are forgotten, in turns; 0 is never.
	ForgetEvery uint64
	Logs        bool
}

// line is the output of a runner process: one JSON object a line.
type line struct {
	Turn  uint64 // settled; 0 before the pipeline starts
	Held  string `json:",omitempty"` // the point at which a delay begins
	Done  *pipeline.RunResult
	Error string `json:",omitempty"`
	Kind  string `json:",omitempty"` // name of the sentinel in Error
}

func (l *line) String() string {
	switch {
	case l == nil:
		return "no last word: killed"
	case l.Error != "":
		return fmt.Sprintf("error (%s) %s", l.Kind, l.Error)
	}
	return fmt.Sprintf("%+v", l.Done)
}

// runnerMain runs one job; SIGTERM drains.
func runnerMain() error {
	var j job
	input := bufio.NewReader(os.Stdin)
	if err := json.NewDecoder(input).Decode(&j); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	say := sayer()
	drain := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		close(drain)
	}()
	go func() { // the test has ended, and so does this process
		_, _ = io.Copy(io.Discard, input)
		os.Exit(3)
	}()
	d, err := pipeline.Compile(j.Config)
	if err != nil {
		return fmt.Errorf("compiling: %w", err)
	}
	var settled atomic.Uint64
	options := pipeline.RunOptions{
		Readers: max(1, j.Readers), Bounded: j.Bounded, Drain: drain, Logger: quiet(),
		OnSettled: func(s pipeline.Settlement) {
			settled.Store(s.Turn)
			say(line{Turn: s.Turn})
		},
	}
	if j.Logs {
		options.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	say(line{})
	result, err := pipeline.Run(crashpoint.With(context.Background(), j.hooks(&settled, say)), d, options)
	last := line{Done: &result}
	if err != nil {
		last.Error, last.Kind = err.Error(), sentinelOf(err)
	}
	say(last)
	return nil
}

func sayer() func(line) {
	encoder := json.NewEncoder(os.Stdout)
	lines := make(chan line)
	done := make(chan struct{})
	go func() {
		for l := range lines {
			_ = encoder.Encode(l)
			done <- struct{}{}
		}
	}()
	return func(l line) { lines <- l; <-done }
}

// sentinels are the errors that tests branch on, by name, as they have to cross a process boundary.
var sentinels = map[string]error{
	"not-initialised": pipeline.ErrNotInitialised, "stopped": pipeline.ErrStopped, "conflict": pipeline.ErrConflict,
	"log-fault": pipeline.ErrLogFault, "no-broker": pipeline.ErrNoBroker, "header-mismatch": pipeline.ErrHeaderMismatch,
}

func sentinelOf(err error) string {
	for name, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return name
		}
	}
	return "other"
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
