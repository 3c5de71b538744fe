package integration

import (
	"bufio"
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

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// startEmbedded runs an embedded broker in this process.
func startEmbedded(t testing.TB) string {
	t.Helper()
	broker := must.Have(embedded.Start(embedded.Options{Logger: quiet()}))
	t.Cleanup(broker.Close)
	return broker.Addr()
}

// brokerProcess is an embedded broker in a process of its own, which ends with the test at the
// latest.
type brokerProcess struct {
	cmd  *exec.Cmd
	addr string
	dir  string
}

func (b *brokerProcess) address() string { return b.addr }

// restart implements testBroker.
func (b *brokerProcess) restart(t testing.TB) {
	t.Helper()
	*b = *startBrokerAt(t, b.addr, b.dir)
}

// startBrokerAt runs a broker that keeps its log in a directory; empty: in memory.
func startBrokerAt(t testing.TB, addr, dir string) *brokerProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=broker", brokerVariable+"="+addr, brokerDirVariable+"="+dir)
	cmd.Stderr = os.Stderr
	stdin := must.Have(cmd.StdinPipe())
	stdout := must.Have(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting the broker: %v", err)
	}
	b := &brokerProcess{cmd: cmd, dir: dir}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line := must.Have(bufio.NewReader(stdout).ReadString('\n'))
	b.addr = strings.TrimSpace(line)
	return b
}

// kill ends the broker as kill −9 does.
func (b *brokerProcess) kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// child is a runner in a process of its own.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	turns  chan uint64 // settled turns; 0: the process is about to start the pipeline
	held   chan string // points at which the process is held up, for heldUp; dropped while no test waits
	exit   chan struct{}
	end    *line // the last word; set before exit is closed, nil where the process was killed
	broken error // the process ended by itself and without a last word
	stderr *await.Buffer
}

// startRunner starts a job in a process of its own, which ends with the test at the latest.
func startRunner(t testing.TB, j job) *child {
	t.Helper()
	input := must.Have(j.encode())
	c := &child{cmd: exec.Command(os.Args[0]), turns: make(chan uint64, 10_000), held: make(chan string),
		stderr: &await.Buffer{}, exit: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), roleVariable+"=runner")
	c.cmd.Stderr = c.stderr
	stdin := must.Have(c.cmd.StdinPipe())
	stdout := must.Have(c.cmd.StdoutPipe())
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("starting the runner: %v", err)
	}
	c.stdin = stdin
	if _, err := stdin.Write(input); err != nil {
		t.Fatalf("writing the job: %v", err)
	}
	go c.listen(stdout)
	t.Cleanup(c.kill)
	return c
}

func (c *child) listen(stdout io.Reader) {
	defer close(c.exit)
	defer close(c.turns)
	decoder := json.NewDecoder(stdout)
	for {
		var l line
		if decoder.Decode(&l) != nil {
			break
		}
		switch {
		case l.Done != nil:
			c.end = &l
		case l.Held != "":
			select {
			case c.held <- l.Held:
			default:
			}
		default:
			c.turns <- l.Turn
		}
	}
	if err := c.cmd.Wait(); c.end == nil && c.cmd.ProcessState.Exited() {
		c.broken = fmt.Errorf("the runner broke off: %w; stderr:\n%s", err, tail(c.stderr))
	}
}

// kill ends the process as kill −9 does and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.exit
}

func (c *child) drain()  { _ = c.cmd.Process.Signal(syscall.SIGTERM) }
func (c *child) freeze() { _ = c.cmd.Process.Signal(syscall.SIGSTOP) }
func (c *child) thaw()   { _ = c.cmd.Process.Signal(syscall.SIGCONT) }

// errHangs means that a process did not end in time.
var errHangs = errors.New("the runner hangs")

// wait waits for the end of the process and gives its last word, nil where it was killed. A process
// that does not end is made to print its stacks and ended.
func (c *child) wait(timeout time.Duration) (*line, error) {
	select {
	case <-c.exit:
		return c.end, c.broken
	case <-time.After(timeout):
		_ = c.cmd.Process.Signal(syscall.SIGQUIT)
		<-c.exit
		return nil, fmt.Errorf("%w for %v; stderr:\n%s", errHangs, timeout, tail(c.stderr))
	}
}

// last is wait for tests in which a process that hangs is a failure.
func (c *child) last(t testing.TB) *line {
	t.Helper()
	return must.Have(c.wait(patience))
}

// settled waits until this turn or a later one is settled; false where the process ends before.
// Turn 0 is the start.
func (c *child) settled(t testing.TB, turn uint64) bool {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case got, open := <-c.turns:
			if !open {
				<-c.exit
				if c.broken != nil {
					t.Fatal(c.broken)
				}
				return false
			}
			if got >= turn {
				return true
			}
		case <-timer.C:
			_ = c.cmd.Process.Signal(syscall.SIGQUIT)
			<-c.exit
			t.Fatalf("turn %d was not settled within %v; stderr:\n%s", turn, patience, tail(c.stderr))
		}
	}
}

// heldUp waits until one of the job's delays begins.
func (c *child) heldUp(t testing.TB) {
	t.Helper()
	select {
	case <-c.held:
	case <-c.exit:
		t.Fatalf("the run ended with %s before it was held up; stderr:\n%s", c.end, tail(c.stderr))
	case <-time.After(patience):
		t.Fatalf("the run was not held up within %v; stderr:\n%s", patience, tail(c.stderr))
	}
}

// tail returns the last part of what a process printed.
func tail(b *await.Buffer) string {
	s := b.String()
	return s[max(0, len(s)-6000):]
}
