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
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// roleVariable makes a copy of the test binary act as a broker or as a runner, so that both can be
// killed.
const roleVariable = "TOLLGATE_INTEGRATION_ROLE"

const (
	brokerVariable    = "TOLLGATE_INTEGRATION_BROKER"     // address of a broker
	brokerDirVariable = "TOLLGATE_INTEGRATION_BROKER_DIR" // directory of its log; empty: in memory
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
		if err = closeShared(); err == nil {
			os.Exit(code)
		}
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
	Config  jobConfig
	Readers int // READs that share the partitions; 0 means 1
	Bounded bool
	// The process is killed (−9) when it passes the point CrashAt of the protocol for the Skip+1st
	// time while CrashTurn or a later turn is open.
	CrashAt   string
	CrashTurn uint64
	Skip      int
	// Delays by point; inShard names a point in one shard.
	Delays       map[string]time.Duration
	UntilDrained uint64 // first turn that is not settled before SIGTERM; 0: none
	ForgetEvery  uint64 // turns between two losses of a shard's memory; 0: none
	Logs         bool
}

// jobConfig is a configuration with its keys, which a pipeline.Config encodes as "[redacted]".
type jobConfig struct {
	pipeline.Config
	Keys struct {
		NoiseID         string
		Noise, UserHash [32]byte
	}
}

func newJobConfig(c pipeline.Config) jobConfig {
	j := jobConfig{Config: c}
	j.Keys.NoiseID, j.Keys.Noise = c.Keys.Noise.ID, c.Keys.Noise.Secret.Reveal()
	j.Keys.UserHash = c.Keys.UserHash.Reveal()
	return j
}

func (j jobConfig) compile() (*pipeline.Deployment, error) {
	j.Config.Keys = pipeline.SecretKeys{UserHash: secret.New(j.Keys.UserHash),
		Noise: noisereduction.NoiseKey{ID: j.Keys.NoiseID, Secret: secret.New(j.Keys.Noise)}}
	return pipeline.Compile(j.Config)
}

// line is one JSON object of a runner process's output.
type line struct {
	Turn  uint64 // settled; 0 before the pipeline starts
	Held  string `json:",omitempty"` // point where the delay begins
	Done  *pipeline.RunResult
	Error string `json:",omitempty"`
	Kind  string `json:",omitempty"` // name of the sentinel in Error
}

func (l *line) String() string {
	switch {
	case l == nil:
		return "no last line: killed"
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
	report := reporter()
	drain := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		close(drain)
	}()
	go func() { // this process ends with the test
		_, _ = io.Copy(io.Discard, input)
		os.Exit(3)
	}()
	d, err := j.Config.compile()
	if err != nil {
		return fmt.Errorf("compiling: %w", err)
	}
	var settled atomic.Uint64
	options := pipeline.RunOptions{
		Readers: max(1, j.Readers), Bounded: j.Bounded, Drain: drain, Logger: quiet(),
		OnSettled: func(s pipeline.Settlement) {
			settled.Store(s.Turn)
			report(line{Turn: s.Turn})
		},
	}
	if j.Logs {
		options.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	report(line{})
	result, err := pipeline.Run(crashpoint.With(context.Background(), j.hooks(&settled, report)), d, options)
	last := line{Done: &result}
	if err != nil {
		last.Error, last.Kind = err.Error(), sentinelOf(err)
	}
	report(last)
	return nil
}

// reporter returns a function that writes a line; any goroutine may call it.
func reporter() func(line) {
	var mu sync.Mutex
	encoder := json.NewEncoder(os.Stdout)
	return func(l line) {
		mu.Lock()
		defer mu.Unlock()
		_ = encoder.Encode(l)
	}
}

// sentinels names the errors that tests distinguish, because they cross a process boundary.
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
