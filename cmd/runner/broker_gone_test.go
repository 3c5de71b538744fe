package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/embedded"
)

// A run that is started while its broker restarts waits for it, and one that is to end while no broker answers ends soon.
func TestRuleARunOutlivesARestartOfItsBrokerAndEndsWithoutOne(t *testing.T) {
	if testing.Short() {
		t.Skip("runs pipelines")
	}
	dir := t.TempDir()
	b, err := embedded.Start(embedded.Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	addr := b.Addr()
	cfg := deploymentFile(t, addr)
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start", "2025-03-01")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	b.Close()

	code, _, stderr := run(t, "run", "--config", cfg, "--wait-for-broker", "0s")
	if code != exitError || !strings.Contains(stderr, "nothing listens there") || strings.Contains(stderr, "SASL") {
		t.Errorf("without waiting: exit %d, stderr %s", code, stderr)
	}
	type end struct {
		code           int
		stdout, stderr string
	}
	start := func(args ...string) chan end {
		over := make(chan end, 1)
		go func() {
			code, stdout, stderr := run(t, append([]string{"run", "--config", cfg}, args...)...)
			over <- end{code, stdout, stderr}
		}()
		return over
	}
	signal := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}

	over := start("--until-end", "--wait-for-broker", "2m")
	time.Sleep(time.Second)
	if b, err = embedded.Start(embedded.Options{Addr: addr, DataDir: dir}); err != nil {
		t.Fatal(err)
	}
	defer func() { b.Close() }()
	if e := <-over; e.code != exitOK || !strings.Contains(e.stdout, "north") || !strings.Contains(e.stderr, "no broker answers, waiting for one for up to 2m0s") {
		t.Errorf("a start during a restart: %+v", e)
	}

	over = start()
	time.Sleep(2 * time.Second)
	b.Close()
	begin := time.Now()
	signal()
	if e := <-over; e.code != exitError || !strings.Contains(e.stderr, "the next run redoes what was under way") || time.Since(begin) > 20*time.Second {
		t.Errorf("a signal without a broker, after %v: %+v", time.Since(begin), e)
	}

	over = start("--wait-for-broker", "10m")
	time.Sleep(time.Second)
	begin = time.Now()
	signal()
	if e := <-over; e.code != exitError || !strings.Contains(e.stderr, "nothing was under way") || strings.Contains(e.stderr, "turn") || time.Since(begin) > 20*time.Second {
		t.Errorf("a signal during the wait, after %v: %+v", time.Since(begin), e)
	}
}

// So does a replay.
func TestAReplayEndsWithoutABroker(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	cfg := deploymentFile(t, b.Addr())
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1")
	input := visits(t, true)
	over := make(chan string, 1)
	go func() {
		code, _, stderr := run(t, "replay", "--config", cfg, "--input", input, "--header", "--rate", "20")
		if code != exitError {
			t.Errorf("exit %d", code)
		}
		over <- stderr
	}()
	time.Sleep(time.Second)
	b.Close()
	begin := time.Now()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if stderr := <-over; !strings.Contains(stderr, "no broker has answered since") || strings.Contains(stderr, "turn") || time.Since(begin) > 20*time.Second {
		t.Errorf("after %v: %s", time.Since(begin), stderr)
	}
}
