package integration

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/realflink"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	loads "github.com/tollgate-dp/tollgate/internal/testing/workload"
	"github.com/tollgate-dp/tollgate/schemas"
)

// flinkBench measures the binary, in one process and as a job of a real cluster, on one real
// broker.
type flinkBench struct {
	b       *testing.B
	binary  string
	dir     string
	addr    string
	client  *kafkalog.Client
	cluster *realflink.Cluster
}

const flinkBenchSlots = 8

func startFlinkBench(b *testing.B) *flinkBench {
	b.Helper()
	f := &flinkBench{b: b, dir: b.TempDir(), cluster: startFlink(b, realflink.Options{Slots: flinkBenchSlots})}
	broker, err := realkafka.Start(b.Context(), realkafka.Options{})
	if err != nil {
		unavailable(b, err)
	}
	b.Cleanup(func() { _ = broker.Close() })
	f.binary, f.addr = buildRunner(b, "-tags", "flink"), broker.Addr()
	f.client, err = kafkalog.Dial(b.Context(), kafkalog.Config{Brokers: []string{f.addr}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(f.client.Close)
	return f
}

// describe writes the file of a deployment with public keys and windows of that size.
func (f *flinkBench) describe(name, events string, window time.Duration, keys []string) string {
	f.b.Helper()
	file := filepath.Join(f.dir, name+".yaml")
	text := fmt.Sprintf(`deployment: %s
kafka: {brokers: [%q]}
events:
  topic: %s
  format: jsonl
  fields: {user: user, key: key, time: time}
  time_unit: ms
privacy: {epsilon: 1, delta: 1e-6, lasts: %s}
time: {trust: producer, no_future: true, lateness: 20s}
metrics:
  - name: visits
    window: {size: %s}
    keys: {list: [%s]}
    target: {relative: 0.1, absolute: 19}
keys:
  noise: {file: %[7]s/noise.key}
  user_hash: {file: %[7]s/hash.key}
`, name, f.addr, events, 5*window, window, strings.Join(keys, ", "), f.dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.b.Fatal(err)
	}
	return file
}

// say runs the binary to its end.
func (f *flinkBench) say(args ...string) {
	f.b.Helper()
	if out, err := exec.CommandContext(f.b.Context(), f.binary, args...).CombinedOutput(); err != nil {
		f.b.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// begin makes a deployment, and where there are none yet its topics and keys.
func (f *flinkBench) begin(file string, partitions int) {
	f.b.Helper()
	args := []string{"init", "--config", file, "--create-topics", "--event-partitions", strconv.Itoa(partitions), "--start", loads.Start().Format(time.RFC3339)}
	if _, err := os.Stat(filepath.Join(f.dir, "noise.key")); err != nil {
		args = append(args, "--generate-keys")
	}
	f.say(args...)
}

// send puts events on the topic of a deployment.
func (f *flinkBench) send(file string, load loads.Load, millis func(i int) int64) {
	f.b.Helper()
	path := file + ".jsonl"
	out, err := os.Create(path)
	if err != nil {
		f.b.Fatal(err)
	}
	w := bufio.NewWriter(out)
	var line []byte
	for i := range load.Events {
		line = append(load.AppendJSON(line[:0], i, millis(i)), '\n')
		_, _ = w.Write(line) // Flush says it
	}
	if err := w.Flush(); err != nil {
		f.b.Fatal(err)
	}
	_ = out.Close()
	f.say("replay", "--config", file, "--input", path)
}

// on are the flags of a run on the cluster; 0: in this process.
func (f *flinkBench) on(parallelism, readers int) []string {
	if parallelism == 0 {
		return nil
	}
	return []string{"--engine", "flink", "--flink", f.cluster.URL(), "--parallelism", strconv.Itoa(parallelism), "--readers", strconv.Itoa(readers)}
}

// through is what control says of a run: when it began, and when turns were settled, by the
// broker's clock or the writer's.
type through struct {
	epoch, first, last time.Time
	turns, bytes       int
}

// run runs a deployment up to a time, and returns when it was started and what control says of it.
func (f *flinkBench) run(file, name string, until time.Time, flags []string) (time.Time, through) {
	f.b.Helper()
	from, err := f.client.Offsets(f.b.Context(), name+"-control", 0)
	if err != nil {
		f.b.Fatal(err)
	}
	began := time.Now()
	f.say(append([]string{"run", "--log-format", "text", "--config", file, "--until", until.Format(time.RFC3339), "--format", "json"}, flags...)...)
	to, err := f.client.Offsets(f.b.Context(), name+"-control", 0)
	if err != nil {
		f.b.Fatal(err)
	}
	var t through
	err = f.client.ReadRange(f.b.Context(), name+"-control", 0, from.High, to.High, func(r kafkalog.Record) error {
		c, err := schemas.DecodeControl(r.Value)
		if err != nil {
			return err
		}
		at := time.UnixMilli(r.Timestamp)
		t.bytes += len(r.Value)
		switch c.Body.(type) {
		case *schemas.Epoch:
			t.epoch = at
		case *schemas.Settled:
			if t.turns++; t.turns == 1 {
				t.first = at
			}
			t.last = at
		}
		return nil
	})
	if err != nil {
		f.b.Fatal(err)
	}
	if t.turns == 0 {
		f.b.Fatalf("%s: no turn was settled", name)
	}
	return began, t
}

// BenchmarkFlinkTurns is the time of a turn: windows of one event each, of which a job has 500, in
// one process and at parallelism 1, 2, 4 and 8, one after the other in every round. Reported beside
// it is the time from the start of the program to the first settled turn. The first round warms up.
func BenchmarkFlinkTurns(b *testing.B) {
	f := startFlinkBench(b)
	const windows = 500
	load := loads.Load{Events: windows, Users: 100, Keys: 1, Windows: 1}
	turn, start := map[int]time.Duration{}, map[int]time.Duration{}
	widths := []int{0, 1, 2, 4, 8}
	for round := range b.N + 1 {
		for _, p := range widths {
			name := fmt.Sprintf("turns-%d-%d-%d", b.N, round, p)
			file := f.describe(name, "turns-events", time.Minute, load.KeyNames())
			f.begin(file, 4)
			if b.N == 1 && round == 0 && p == 0 {
				f.send(file, load, func(i int) int64 { return loads.Start().Add(time.Duration(i) * time.Minute).UnixMilli() })
			}
			began, t := f.run(file, name, loads.Start().Add(windows*time.Minute), f.on(p, min(p, 1)))
			if t.turns != windows {
				b.Fatalf("%d turns were settled", t.turns)
			}
			if round > 0 {
				turn[p] += t.last.Sub(t.first) / (windows - 1)
				start[p] += t.first.Sub(began)
			}
		}
	}
	for _, p := range widths {
		b.ReportMetric(float64(turn[p].Microseconds())/1000/float64(b.N), "ms/turn-P"+strconv.Itoa(p))
		b.ReportMetric(float64(start[p].Milliseconds())/float64(b.N), "ms/start-P"+strconv.Itoa(p))
	}
}

// BenchmarkFlinkReaders is what more READs cost a turn: windows of 100 events each in 100
// partitions, at parallelism 4, with 1, 10 and 50 READs. Reported beside it is what a turn adds to
// control.
func BenchmarkFlinkReaders(b *testing.B) {
	f := startFlinkBench(b)
	const windows = 100
	load := loads.Load{Events: 100 * windows, Users: 10_000, Keys: 1, Windows: 1}
	for _, readers := range []int{4, 1, 10, 50} { // the first one warms up
		var turn, written float64
		for round := range b.N {
			name := fmt.Sprintf("readers-%d-%d-%d", b.N, round, readers)
			file := f.describe(name, "readers-events", time.Minute, load.KeyNames())
			f.begin(file, 100)
			if b.N == 1 && readers == 4 {
				f.send(file, load, func(i int) int64 { return loads.Start().Add(time.Duration(i/100) * time.Minute).UnixMilli() })
			}
			_, t := f.run(file, name, loads.Start().Add(windows*time.Minute), f.on(4, readers))
			turn += float64(t.last.Sub(t.first).Microseconds()) / 1000 / (windows - 1)
			written += float64(t.bytes) / windows
		}
		if readers != 4 {
			b.ReportMetric(turn/float64(b.N), "ms/turn-"+strconv.Itoa(readers))
			b.ReportMetric(written/float64(b.N), "B-control/turn-"+strconv.Itoa(readers))
		}
	}
}

// BenchmarkFlinkThroughput is how many events a second pass, from the EPOCH of a run to its last
// settled turn: eight million events of 100,000 users in 8 partitions, in one process and with so
// many READs as tasks. Reported beside it is the CPU time that TaskManager and workers took for an
// event. The first round warms up.
func BenchmarkFlinkThroughput(b *testing.B) {
	f := startFlinkBench(b)
	load := loads.Load{Events: 8_000_000, Users: 100_000, Keys: 20, Windows: 6}
	events, cpu := map[int]float64{}, map[int]float64{}
	widths := []int{0, 1, 2, 4}
	for round := range b.N + 1 {
		for _, p := range widths {
			name := fmt.Sprintf("through-%d-%d-%d", b.N, round, p)
			file := f.describe(name, "through-events", loads.Window, load.KeyNames())
			f.begin(file, 8)
			if b.N == 1 && round == 0 && p == 0 {
				f.send(file, load, load.Millis)
			}
			before := f.cpu()
			_, t := f.run(file, name, loads.Start().Add(time.Duration(load.Windows-1)*loads.Window), f.on(p, p))
			if round > 0 {
				events[p] += float64(load.Events) / t.last.Sub(t.epoch).Seconds()
				cpu[p] += (f.cpu() - before).Seconds() / float64(load.Events)
			}
		}
	}
	for _, p := range widths {
		b.ReportMetric(events[p]/float64(b.N)/1e6, "Mevents/s-P"+strconv.Itoa(p))
		if p > 0 {
			b.ReportMetric(1e6*cpu[p]/float64(b.N), "cpu-µs/event-P"+strconv.Itoa(p))
		}
	}
}

// cpu is what the TaskManager has taken, and its workers that have ended.
func (f *flinkBench) cpu() time.Duration {
	f.b.Helper()
	time.Sleep(time.Second) // workers end after their job; what is measured is not the time
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.cluster.TaskManagerPid(0)))
	if err != nil {
		f.b.Skipf("/proc tells of no CPU time here: %v", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:15] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			f.b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// BenchmarkFlinkHeap is what a TaskManager and its worker keep: after a quarter, a half and all of
// 2,000 turns, at parallelism 2. The TaskManager's heap is measured after a collection.
func BenchmarkFlinkHeap(b *testing.B) {
	f := startFlinkBench(b)
	const windows = 2000
	load := loads.Load{Events: windows, Users: 100, Keys: 1, Windows: 1}
	for round := range b.N {
		name := fmt.Sprintf("heap-%d-%d", b.N, round)
		file := f.describe(name, name+"-events", time.Minute, load.KeyNames())
		f.begin(file, 4)
		f.send(file, load, func(i int) int64 { return loads.Start().Add(time.Duration(i) * time.Minute).UnixMilli() })
		ctx, cancel := context.WithCancel(b.Context())
		run := exec.CommandContext(ctx, f.binary, append([]string{"run", "--log-format", "text", "--config", file, "--format", "json"}, f.on(2, 2)...)...)
		run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
		if err := run.Start(); err != nil {
			b.Fatal(err)
		}
		for _, part := range []int{4, 2, 1} {
			turns := windows/part - 2 // the last windows stay open: their lateness is not over
			for f.settled(name) < turns {
				time.Sleep(50 * time.Millisecond)
			}
			b.ReportMetric(f.heap(), fmt.Sprintf("MB-heap-after-%d", windows/part))
			b.ReportMetric(f.workerRSS(), fmt.Sprintf("MB-worker-after-%d", windows/part))
		}
		cancel()
		_ = run.Wait() // drained
	}
}

// settled is how many turns control says are settled.
func (f *flinkBench) settled(name string) int {
	f.b.Helper()
	n := 0
	offsets, err := f.client.Offsets(f.b.Context(), name+"-control", 0)
	if err == nil {
		err = f.client.ReadRange(f.b.Context(), name+"-control", 0, offsets.Start, offsets.High, func(r kafkalog.Record) error {
			c, err := schemas.DecodeControl(r.Value)
			if _, ok := c.Body.(*schemas.Settled); ok {
				n++
			}
			return err
		})
	}
	if err != nil {
		f.b.Fatal(err)
	}
	return n
}

// heap is what lives in the TaskManager's heap, in MB.
func (f *flinkBench) heap() float64 {
	f.b.Helper()
	pid := strconv.Itoa(f.cluster.TaskManagerPid(0))
	if out, err := exec.CommandContext(f.b.Context(), "jcmd", pid, "GC.run").CombinedOutput(); err != nil {
		f.b.Skipf("jcmd, which a JDK has, cannot ask the TaskManager: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(f.b.Context(), "jcmd", pid, "GC.heap_info").Output()
	if err != nil {
		f.b.Fatal(err)
	}
	used := 0.0
	for line := range strings.Lines(string(out)) {
		var kept float64
		// where a collection puts what lives
		if _, after, found := strings.Cut(line, "used "); found && strings.Contains(line, "tenured generation") {
			if _, err := fmt.Sscanf(after, "%fK", &kept); err != nil {
				f.b.Fatal(err)
			}
			used += kept / 1024
		}
	}
	return used
}

// workerRSS is what the workers have resident, in MB.
func (f *flinkBench) workerRSS() float64 {
	f.b.Helper()
	workers, err := f.cluster.Workers()
	if err != nil {
		f.b.Fatal(err)
	}
	sum := 0.0
	for _, pid := range workers {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			f.b.Fatal(err)
		}
		var size, resident float64
		if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
			f.b.Fatal(err)
		}
		sum += resident * float64(os.Getpagesize()) / (1 << 20)
	}
	return sum
}

// BenchmarkFlinkStart is the time from the start of the program to the first settled turn where the
// ledger has a million accounts, in one process and at parallelism 2.
func BenchmarkFlinkStart(b *testing.B) {
	f := startFlinkBench(b)
	load := loads.Load{Events: 1_000_000, Users: 1_000_000, Keys: 20, Windows: 1}
	for _, p := range []int{0, 2} {
		var start time.Duration
		for round := range b.N {
			name := fmt.Sprintf("accounts-%d-%d-%d", b.N, round, p)
			file := f.describe(name, name+"-events", loads.Window, load.KeyNames())
			f.begin(file, 4)
			f.send(file, load, load.Millis)
			next := loads.Load{Events: 1000, Users: 1000, Keys: 20, Windows: 1}
			f.send(file, next, func(i int) int64 { return next.Millis(i) + 2*loads.Window.Milliseconds() })
			f.run(file, name, loads.Start().Add(loads.Window), f.on(p, p)) // and warms up
			began, t := f.run(file, name, loads.Start().Add(2*loads.Window), f.on(p, p))
			start += t.first.Sub(began)
		}
		b.ReportMetric(float64(start.Milliseconds())/float64(b.N), "ms/start-P"+strconv.Itoa(p))
	}
}
