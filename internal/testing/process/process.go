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

// Process is a running program. Its methods may be called concurrently.
type Process struct {
	os   *os.Process
	gone chan struct{}
}

// Start starts a command with its output in a file, which is made or emptied. The caller must Kill
// or Stop it.
func Start(cmd *exec.Cmd, log string) (*Process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("making a log file for %s: %w", cmd.Path, err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = orphanEnds()
	p := &Process{gone: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel reports the death of the thread that started the child, so that thread must
		// live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.os = cmd.Process
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
		_ = out.Close()
		close(p.gone)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	return p, nil
}

// Pid returns the process's id.
func (p *Process) Pid() int { return p.os.Pid }

// Gone is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Signal sends a signal; one to a process that has ended is lost.
func (p *Process) Signal(s os.Signal) { _ = p.os.Signal(s) }

// Kill ends the process as kill −9 does and waits until it is gone. A nil process is gone.
func (p *Process) Kill() {
	if p != nil {
		_ = p.os.Kill()
		<-p.gone
	}
}

// Stop ends the process in good order (SIGTERM). One that takes longer than allowed is killed,
// which is an error. A nil process is gone.
func (p *Process) Stop(allowed time.Duration) error {
	if p == nil {
		return nil
	}
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.gone:
		return nil
	case <-time.After(allowed):
		p.Kill()
		return fmt.Errorf("stopping process %d: it did not end within %v and was killed", p.Pid(), allowed)
	}
}

// FreeAddrs finds n free addresses of 127.0.0.1.
func FreeAddrs(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer func() { _ = l.Close() }() // all at the end, so that no port is found twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// Tail returns the last part of a file, for messages.
func Tail(file string) string {
	said, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(said[max(0, len(said)-4000):])
}
