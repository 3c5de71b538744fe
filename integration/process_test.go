package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// process is a child process, which ends with the test at the latest.
type process struct {
	cmd    *exec.Cmd
	stderr await.Buffer
	gone   chan struct{}
	err    error // how it ended; set before gone is closed
}

// startProcess starts a command. listen reads its standard output, if that is a pipe.
func startProcess(t testing.TB, cmd *exec.Cmd, listen func()) *process {
	t.Helper()
	p := &process{cmd: cmd, gone: make(chan struct{})}
	cmd.Stderr = &p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", cmd.Path, err)
	}
	go func() {
		defer close(p.gone)
		listen()
		p.err = cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process as kill −9 does and waits until it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.gone
}

// ends waits for the end of the process, and reports whether it came.
func (p *process) ends(within time.Duration) bool {
	select {
	case <-p.gone:
		return true
	case <-time.After(within):
		return false
	}
}

func (p *process) alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// child is a runner in a process of its own.
type child struct {
	*process
	turns chan uint64 // settled turns; 0: the process is about to start the pipeline
	held  chan string // points at which the process is held up, for heldUp; dropped while no test waits
	end   *line       // the last line; set before gone is closed, nil if the process was killed
}

// startRunner starts a job in a process of its own.
func startRunner(t testing.TB, j job) *child {
	t.Helper()
	c := &child{turns: make(chan uint64, 10_000), held: make(chan string)}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=runner")
	stdin, stdout := must.Have(cmd.StdinPipe()), must.Have(cmd.StdoutPipe())
	c.process = startProcess(t, cmd, func() { c.listen(stdout) })
	must.Succeed(t, json.NewEncoder(stdin).Encode(j))
	return c
}

func (c *child) listen(stdout io.Reader) {
	defer close(c.turns)
	decoder := json.NewDecoder(stdout)
	for {
		var l line
		if decoder.Decode(&l) != nil {
			return
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
}

// errHangs means that a process did not end in time.
var errHangs = errors.New("the runner hangs")

// wait waits for the end of the process and returns its last line, nil if it was killed. A process
// that does not end is made to print its stacks.
func (c *child) wait(timeout time.Duration) (*line, error) {
	if !c.ends(timeout) {
		c.signal(syscall.SIGQUIT)
		<-c.gone
		return nil, fmt.Errorf("%w for %v; stderr:\n%s", errHangs, timeout, tail(&c.stderr))
	}
	if c.end == nil && c.cmd.ProcessState.Exited() {
		return nil, fmt.Errorf("the runner broke off: %w; stderr:\n%s", c.err, tail(&c.stderr))
	}
	return c.end, nil
}

// last is wait for tests that fail if a process hangs.
func (c *child) last(t testing.TB) *line {
	t.Helper()
	return must.Have(c.wait(patience))
}

// succeeds waits for the end of the process, which must be without an error.
func (c *child) succeeds(t testing.TB, timeout time.Duration) *line {
	t.Helper()
	end := must.Have(c.wait(timeout))
	if end == nil || end.Error != "" {
		t.Fatalf("the run ended with %s\n%s", end, tail(&c.stderr))
	}
	return end
}

// settled waits until this turn or a later one is settled, and reports whether it was before the
// process ended. Turn 0 is the start.
func (c *child) settled(t testing.TB, turn uint64) bool {
	t.Helper()
	for timeout := time.After(patience); ; {
		select {
		case settled, open := <-c.turns:
			if !open {
				c.last(t)
				return false
			}
			if settled >= turn {
				return true
			}
		case <-timeout:
			_, err := c.wait(0)
			t.Fatalf("turn %d was not settled within %v: %v", turn, patience, err)
		}
	}
}

// heldUp waits until one of the job's delays begins.
func (c *child) heldUp(t testing.TB) {
	t.Helper()
	select {
	case <-c.held:
	case <-c.gone:
		t.Fatalf("the run ended with %s before it was held up; stderr:\n%s", c.end, tail(&c.stderr))
	case <-time.After(patience):
		t.Fatalf("the run was not held up within %v; stderr:\n%s", patience, tail(&c.stderr))
	}
}

// tail returns the last part of a process's output.
func tail(b *await.Buffer) string {
	s := b.String()
	return s[max(0, len(s)-6000):]
}
