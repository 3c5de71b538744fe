package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// processVariable has the command line, one argument a line, of a process that the
// tests start: their own binary, as runner.
const processVariable = "TOLLGATE_RUNNER_PROCESS"

// patience is how long tests wait for a process.
const patience = 2 * time.Minute

// TestProcess is the process of the other tests.
func TestProcess(*testing.T) {
	line, ours := os.LookupEnv(processVariable)
	if !ours {
		return
	}
	os.Args = append([]string{"tollgate"}, strings.Split(line, "\n")...)
	os.Exit(Main(command.Release{}, os.Exit))
}

// process is runner in a process of its own, which ends with the test at the latest.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

func startProcess(t testing.TB, stdout, stderr io.Writer, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^TestProcess$"), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), processVariable+"="+strings.Join(commandtest.AsText(args), "\n"))
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	must.Succeed(t, p.cmd.Start())
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // the state has the code
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	return p
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	must.Succeed(t, p.cmd.Process.Signal(s))
}

// code waits for the end of the process.
func (p *process) code(t testing.TB) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatal("the process does not end")
		return 0
	}
}

// begun is a command that runs in this process while the test goes on.
type begun struct {
	stdout, stderr await.Buffer
	over           chan int      // its exit code
	gone           chan struct{} // closed once it is over
}

func begin(args ...string) *begun { return beginUnder(context.Background(), nil, args...) }

// beginUnder begins a command under a context, with environment variables.
func beginUnder(ctx context.Context, environment map[string]string, args ...string) *begun {
	b := &begun{over: make(chan int, 1), gone: make(chan struct{})}
	a := &command.App{Stdout: &b.stdout, Stderr: &b.stderr, Getenv: func(name string) string {
		return environment[name]
	}}
	go func() {
		defer close(b.gone)
		b.over <- command.Execute(ctx, a, rootCommand, commandtest.AsText(args))
	}()
	return b
}

// says waits until a stream has a text.
func says(t testing.TB, stream *await.Buffer, text string) {
	t.Helper()
	await.That(t, patience, fmt.Sprintf("the command says %q", text), func() bool {
		return strings.Contains(stream.String(), text)
	})
}

// terminate sends SIGTERM to this process, and so to every command that runs in it: a test that
// calls it is not parallel. (Parallel tests begin when all others are over.)
func terminate(t testing.TB) {
	t.Helper()
	must.Succeed(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
}

// pipe is one without a reader unless the test reads it.
func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// fullPipe takes nothing from the beginning.
func fullPipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w = pipe(t)
	must.Succeed(t, w.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	if _, err := w.Write(bytes.Repeat([]byte{'\n'}, 8<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("filling a pipe: %v", err)
	}
	return r, w
}

// manyKeys are so many that a few turns fill a pipe.
const manyKeys = 100

// hourly is a deployment with thousands of turns of manyKeys values to settle, of
// which a run settles some in a second.
func hourly(t testing.TB) (cfg, addr string) {
	t.Helper()
	addr = commandtest.Broker(t)
	var keys []string
	for i := range manyKeys {
		keys = append(keys, fmt.Sprintf("key-%03d", i))
	}
	cfg = commandtest.DeploymentFile(t, addr, "[north, south, west]", "["+strings.Join(keys, ", ")+"]", "size: 1d",
		"size: 1h")
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start",
		"2025-03-01T00:00:00Z")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	return cfg, addr
}

// published waits until counts has more than so many records.
func published(t testing.TB, addr string, more int64) (end int64) {
	t.Helper()
	return written(t, addr, "shop-counts", more)
}

// written waits until the first partition of a topic has more than so many records.
func written(t testing.TB, addr, topic string, more int64) (end int64) {
	t.Helper()
	client := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}}))
	defer client.Close()
	await.That(t, patience, fmt.Sprintf("%s has more than %d records", topic, more), func() bool {
		bounds := must.Have(client.Offsets(t.Context(), topic, 0))
		end = bounds.High
		return end > more
	})
	return end
}

// wholeLines checks what was printed up to the end of the process.
func wholeLines(t *testing.T, r, w *os.File) (lines int) {
	t.Helper()
	w.Close()
	text := must.Have(io.ReadAll(r))
	for line := range bytes.Lines(text) {
		if lines++; !json.Valid(line) || line[len(line)-1] != '\n' {
			t.Fatalf("line %d is cut: %q", lines, line)
		}
	}
	return lines
}

// A reader that stops reading stdout stops the printing and nothing else: turns are settled,
// a signal drains the run, and what was not printed is counted.
func TestRuleAReaderThatStopsReadingDoesNotStopTheRun(t *testing.T) {
	long.Test(t)
	t.Parallel()
	cfg, addr := hourly(t)
	r, w := pipe(t)
	var stderr await.Buffer
	p := startProcess(t, w, &stderr, "run", "--config", cfg, "--format", "json")
	published(t, addr, 150*manyKeys)
	p.signal(t, syscall.SIGINT)
	if code := p.code(t); code != command.ExitOK {
		t.Errorf("exit %d, stderr %s", code, &stderr)
	}
	for _, want := range []string{"ending once the turn that is being released is finished",
		"drained: everything up to turn", " values; read topic shop-counts"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr does not say %q: %s", want, &stderr)
		}
	}
	if n := wholeLines(t, r, w); n == 0 || n >= 100*manyKeys {
		t.Errorf("%d lines are in the pipe", n)
	}
}

// A terminal that was stopped takes neither values nor notes.
func TestRuleAStderrThatTakesNothingDoesNotStopTheRun(t *testing.T) {
	long.Test(t)
	t.Parallel()
	cfg, addr := hourly(t)
	_, stdout := fullPipe(t)
	_, stderr := fullPipe(t)
	p := startProcess(t, stdout, stderr, "run", "--config", cfg)
	// Progress is told every two seconds.
	end := published(t, addr, 0)
	for begin := time.Now(); time.Since(begin) < 3*time.Second; {
		end = published(t, addr, end)
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.code(t); code != command.ExitOK {
		t.Errorf("exit %d", code)
	}
}

// A run starts and prints where counts has lost what earlier runs published.
func TestRuleARunStartsWhereCountsHasLostItsFirstRecords(t *testing.T) {
	long.Test(t)
	t.Parallel()
	addr := commandtest.Broker(t)
	cfg := commandtest.DeploymentFile(t, addr)
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start",
		"2025-03-01T00:00:00Z")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, true), "--header")
	const first, rest = `"window_start":"2025-03-01T`, `"window_start":"2025-03-03T`
	stdout, stderr := mustRun(t, "run", "--config", cfg, "--until", "2025-03-03", "--wait", "1m", "--format", "json")
	if !strings.Contains(stdout, first) || strings.Contains(stdout, rest) {
		t.Fatalf("stdout %s, stderr %s", stdout, stderr)
	}
	deploytest.DeleteRecords(t, addr, "shop-counts", 0, -1)
	stdout, stderr = mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m", "--format", "json")
	if strings.Contains(stdout, first) || !strings.Contains(stdout, rest) || strings.Contains(stderr, "not printed") {
		t.Errorf("stdout %s, stderr %s", stdout, stderr)
	}
}
