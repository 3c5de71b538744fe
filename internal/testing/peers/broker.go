package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// brokerMode is the mode of a process that is an embedded broker.
const brokerMode = "broker"

// startBroker starts a fresh broker of a kind, and returns how to end it. The address of the kind
// "embedded" is empty: what is measured starts its own.
func startBroker(ctx context.Context, kind string) (addr string, stop func() error, err error) {
	switch kind {
	case "kafka":
		b, err := realkafka.Start(ctx, realkafka.Options{})
		if err != nil {
			return "", nil, err
		}
		return b.Addr(), b.Close, nil
	case "apart":
		return startApart(ctx)
	}
	return "", func() error { return nil }, nil
}

// startApart starts this program as a broker.
func startApart(ctx context.Context) (addr string, stop func() error, err error) {
	cmd, err := self(ctx, brokerMode)
	if err != nil {
		return "", nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, fmt.Errorf("starting a broker: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, fmt.Errorf("starting a broker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("starting a broker: %w", err)
	}
	stop = func() error {
		_ = in.Close() // which ends it
		return cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("reading where the broker listens: %w (it ended with %v)", err, stop())
	}
	return strings.TrimSpace(line), stop, nil
}

// serveBroker is an embedded broker until in ends, as it does with the process that started this
// one.
func serveBroker(in io.Reader, out io.Writer) error {
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		return err
	}
	defer b.Close()
	if _, err := fmt.Fprintln(out, b.Addr()); err != nil {
		return fmt.Errorf("telling where the broker listens: %w", err)
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// self returns this program, to be run in a mode, with its errors on ours.
func self(ctx context.Context, mode string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("looking for this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, mode)
	cmd.Stderr = os.Stderr
	return cmd, nil
}
