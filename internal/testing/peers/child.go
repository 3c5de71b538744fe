package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/workload"
)

// childMode is the mode of a process that runs one task.
const childMode = "child"

// A task is the work of one process.
type task struct {
	Contestant string
	Load       workload.Load
	Partitions int    // of the events topic
	Shards     int    // of Tollgate
	Private    bool   // Tollgate's keys are private
	Broker     string // host:port; empty: an embedded broker in the process
}

// A result holds the resources that a task used.
type result struct {
	Wall      time.Duration
	CPU       time.Duration // user and system time
	Allocated uint64        // total number of bytes
	Peak      uint64        // peak of resident memory, in bytes
}

// perEvent returns the CPU time per event, in microseconds, and the allocated bytes per event.
func (t task) perEvent(r result) (cpu, bytes float64) {
	n := float64(t.Load.Events)
	return float64(r.CPU.Nanoseconds()) / 1000 / n, float64(r.Allocated) / n
}

// do runs a task in a new process with a new broker, on cpus cores.
func do(ctx context.Context, t task, broker string, cpus int) (r result, err error) {
	addr, stop, err := startBroker(ctx, broker)
	if err != nil {
		return result{}, err
	}
	defer func() {
		if serr := stop(); err == nil && serr != nil {
			err = fmt.Errorf("ending the broker: %w", serr)
		}
	}()
	t.Broker = addr
	input, err := json.Marshal(t)
	if err != nil {
		return result{}, fmt.Errorf("encoding a task: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return result{}, fmt.Errorf("looking for this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, childMode)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(cpus))
	stderr := &bytes.Buffer{} // shown only after a failure: Beam's runners log a lot
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), stderr
	out, err := cmd.Output()
	if err != nil {
		return result{}, fmt.Errorf("running %s: %w; stderr:\n%s", t.Contestant, err, stderr)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return result{}, fmt.Errorf("reading the result of %s: %w", t.Contestant, err)
	}
	return r, nil
}

// child reads a task from in, runs it, and writes its result to out.
func child(ctx context.Context, in io.Reader, out io.Writer) error {
	var t task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("reading a task: %w", err)
	}
	c, err := contestantOf(t.Contestant)
	if err != nil {
		return err
	}
	e, err := c.prepare(ctx, t)
	if err != nil {
		return fmt.Errorf("preparing %s: %w", t.Contestant, err)
	}
	defer e.close()
	r, err := measure(func() error { return e.run(ctx) })
	if err != nil {
		return fmt.Errorf("running %s: %w", t.Contestant, err)
	}
	counts, err := e.counts(ctx)
	if err != nil {
		return fmt.Errorf("reading the counts of %s: %w", t.Contestant, err)
	}
	if err := c.verify(t, counts); err != nil {
		return fmt.Errorf("checking the counts of %s: %w", t.Contestant, err)
	}
	return json.NewEncoder(out).Encode(r)
}

// measure returns the resources that run uses. It collects garbage before it calls run.
func measure(run func() error) (result, error) {
	debug.FreeOSMemory()
	// This resets the peak. If the kernel refuses, the peak includes the preparation.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	cpu, bytes, began := cpuTime(), allocated(), time.Now()
	if err := run(); err != nil {
		return result{}, err
	}
	r := result{Wall: time.Since(began), CPU: cpuTime() - cpu, Allocated: allocated() - bytes}
	peak, err := peakMemory()
	r.Peak = peak
	return r, err
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // it cannot fail for this process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// peakMemory returns the peak of resident memory, in bytes. The peak of getrusage would include the
// parent process.
func peakMemory() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("reading the peak of resident memory: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib uint64
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("reading the peak of resident memory: %w", err)
	}
	return kib << 10, nil
}
