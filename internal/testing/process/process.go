package process

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a running program. Its methods are safe for concurrent use.
type Process struct {
	os    *os.Process
	ended chan struct{}
}

// Start starts a command. Its output goes to the file log, which is created or truncated. The
// caller must Kill or Stop the process.
func Start(cmd *exec.Cmd, log string) (*Process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("making a log file for %s: %w", cmd.Path, err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = orphanEnds()
	p := &Process{ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// With orphanEnds, the kernel kills the child when this thread ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.os = cmd.Process
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // the log shows why it failed
		}
		_ = out.Close()
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	return p, nil
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.os.Pid }

// Gone returns a channel that is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.ended }

// Signal sends a signal. It does nothing if the process has ended.
func (p *Process) Signal(s os.Signal) { _ = p.os.Signal(s) }

// Kill kills the process with SIGKILL and waits for its end. It does nothing if p is nil.
func (p *Process) Kill() {
	if p != nil {
		_ = p.os.Kill()
		<-p.ended
	}
}

// Stop ends the process with SIGTERM. If that takes longer than allowed, Stop kills the process and
// returns an error. It does nothing if p is nil.
func (p *Process) Stop(allowed time.Duration) error {
	if p == nil {
		return nil
	}
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return nil
	case <-time.After(allowed):
		p.Kill()
		return fmt.Errorf("stopping process %d: it did not end within %v and was killed", p.Pid(), allowed)
	}
}

// FreeAddrs returns n free addresses of 127.0.0.1.
func FreeAddrs(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer func() { _ = l.Close() }() // only after the loop, so that no port is returned twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// Tail returns the end of a file, for messages.
func Tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}
