package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// liveMode is the mode of a process that runs the product until its input ends.
const liveMode = "live"

// A liveTask is what a process of liveMode runs.
type liveTask struct {
	Task        task
	Window      time.Duration
	Windows     int  // for which users are paid
	AppendTimes bool // the broker's times decide, else the events' own
}

// deployment compiles the task's deployment.
func (l liveTask) deployment() (*pipeline.Deployment, error) {
	cfg := l.Task.config(l.Task.Broker)
	cfg.Metrics[0].Window = l.Window
	payFor(&cfg, l.Windows)
	cfg.Time = pipeline.Time{Trust: pipeline.TrustProducer, Lateness: time.Second}
	if l.AppendTimes {
		cfg.Time = pipeline.Time{Trust: pipeline.TrustBroker, Lateness: time.Second, Slack: time.Second}
	}
	return pipeline.Compile(cfg)
}

// live reads a task and runs it until the input ends.
func live(ctx context.Context, in io.Reader) error {
	var l liveTask
	given := json.NewDecoder(in)
	if err := given.Decode(&l); err != nil {
		return fmt.Errorf("reading a task: %w", err)
	}
	d, err := l.deployment()
	if err != nil {
		return err
	}
	drain := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in) // until the process that started this one closes it, or ends
		close(drain)
	}()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	_, err = pipeline.Run(ctx, d, pipeline.RunOptions{Drain: drain, Logger: log})
	return err
}

type liveProcess struct {
	pid   int
	input io.Closer
	said  *bytes.Buffer
	gone  chan struct{} // closed when it has ended
	err   error         // then, why
}

// startLive starts a process that runs a task on as many cores as given.
func startLive(ctx context.Context, l liveTask, cpus int) (*liveProcess, error) {
	given, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encoding a task: %w", err)
	}
	cmd, err := self(ctx, liveMode)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(cpus))
	p := &liveProcess{said: &bytes.Buffer{}, gone: make(chan struct{})}
	cmd.Stderr = p.said
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting a run: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a run: %w", err)
	}
	p.pid, p.input = cmd.Process.Pid, input
	go func() {
		p.err = cmd.Wait()
		close(p.gone)
	}()
	if _, err := input.Write(given); err != nil {
		return nil, errors.Join(fmt.Errorf("giving a run its task: %w", err), p.drain())
	}
	return p, nil
}

// drain has the run finish, and waits until it has.
func (p *liveProcess) drain() error {
	_ = p.input.Close()
	<-p.gone
	if p.err != nil {
		return fmt.Errorf("running: %w; it said:\n%s", p.err, p.said)
	}
	return nil
}
