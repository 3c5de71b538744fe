package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/process"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

const (
	serveLoadVariable = "TOLLGATE_SERVE_LOAD"
	servedWindows     = 2_400
	turnsASecond      = 40
	requestsASecond   = 200
)

// Whether a run keeps up with events that come for a minute, 40 turns of them a second, alone and
// with a page that is asked 200 times a second: processes of their own on core 0 and on core 3, and
// Apache Kafka on what is left. It prints and compares nothing, since a clock is no test;
// docs/performance.md has what came out.
func TestServeBesideARun(t *testing.T) {
	if os.Getenv(serveLoadVariable) == "" {
		t.Skipf("for people: taskset -c 1,2 env %s=1 go test -v -run TestServeBesideARun ./integration (four cores, Kafka)", serveLoadVariable)
	}
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Skipf("runs are pinned to cores with taskset: %v", err)
	}
	broker, err := realkafka.Start(t.Context(), realkafka.Options{})
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &served{t: t, dir: t.TempDir(), binary: buildRunner(t), broker: broker.Addr()}
	var lines []string
	for round := range 4 {
		lines = append(lines, s.measure(round, round%2 == 1))
	}
	t.Logf("%d turns a run, %d a second\n%s", servedWindows, turnsASecond, strings.Join(lines, "\n"))
}

type served struct {
	t                   *testing.T
	dir, binary, broker string
}

// command runs the binary on a deployment of this round.
func (s *served) command(ctx context.Context, cores, name string, args ...string) *exec.Cmd {
	config := filepath.Join(s.dir, name+".yaml")
	args = append([]string{"-c", cores, s.binary}, append(args, "--config", config)...)
	cmd := exec.CommandContext(ctx, "taskset", args...)
	cmd.Dir = s.dir
	return cmd
}

func (s *served) must(cmd *exec.Cmd) {
	s.t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// deploy begins a deployment with events in every window.
func (s *served) deploy(name string) {
	s.t.Helper()
	config := fmt.Sprintf(`deployment: %[1]s
kafka:
  brokers: ["%[2]s"]
events:
  topic: %[1]s-events
  format: jsonl
  fields: {user: who, key: page, time: at}
  time_unit: ms
privacy: {epsilon: 1, delta: 1e-6, lasts: 6s}
time: {trust: producer, lateness: 1s}
metrics:
  - name: views
    window: {size: 1s}
    keys: {list: [/cart, /home, /search]}
    target: {relative: 0.1, absolute: 25}
keys:
  noise: {file: %[1]s.noise}
  user_hash: {file: %[1]s.hash}
`, name, s.broker)
	if err := os.WriteFile(filepath.Join(s.dir, name+".yaml"), []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	input := filepath.Join(s.dir, name+".jsonl")
	file, err := os.Create(input)
	if err != nil {
		s.t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	for i := range 2 * servedWindows {
		fmt.Fprintf(out, `{"who": "u%d", "page": "/home", "at": %d}`+"\n", i, base.UnixMilli()+int64(i)*500) //nolint:errcheck // Flush tells
	}
	if err := out.Flush(); err != nil {
		s.t.Fatal(err)
	}
	file.Close() //nolint:errcheck // it was flushed
	s.must(s.command(s.t.Context(), "0,1", name, "init", "--generate-keys", "--create-topics", "--event-partitions", "1", "--start", base.UTC().Format(time.RFC3339)))
}

// measure runs all turns of a deployment, with or without a page beside it.
func (s *served) measure(round int, page bool) string {
	s.t.Helper()
	name := fmt.Sprintf("served-%d", round)
	s.deploy(name)
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	var load *pageLoad
	if page {
		addrs, err := process.FreeAddrs(1)
		if err != nil {
			s.t.Fatal(err)
		}
		serve := s.command(ctx, "3", name, "serve", "--listen", addrs[0])
		if err := serve.Start(); err != nil {
			s.t.Fatal(err)
		}
		defer serve.Wait() //nolint:errcheck // it is killed
		defer cancel()
		load = startLoad(ctx, "http://"+addrs[0])
	}
	var said strings.Builder
	until := base.Add((servedWindows - 10) * time.Second).UTC().Format(time.RFC3339)
	run := s.command(ctx, "0", name, "run", "--until", until, "--format", "json")
	var values strings.Builder
	run.Stdout, run.Stderr = &values, &said
	if err := run.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.must(s.command(ctx, "1,2", name, "replay", "--input", filepath.Join(s.dir, name+".jsonl"), "--rate", fmt.Sprint(2*turnsASecond)))
	fed := time.Now()
	err := run.Wait()
	behind := time.Since(fed)
	if n := strings.Count(values.String(), "\n"); err != nil || n < servedWindows*2 {
		s.t.Fatalf("the run printed %d values: %v\n%s", n, err, said.String())
	}
	cpu := run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	line := fmt.Sprintf("alone    settled %.0f ms after the last event, %.2f ms CPU a turn", ms(behind), ms(cpu)/servedWindows)
	if page {
		line = strings.Replace(line, "alone   ", "with page", 1) + load.end()
	}
	s.t.Log(line)
	return line
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// pageLoad asks a page so often.
type pageLoad struct {
	stop   context.CancelFunc
	done   sync.WaitGroup
	failed atomic.Int64
	mu     sync.Mutex
	took   []time.Duration
}

func startLoad(ctx context.Context, page string) *pageLoad {
	ctx, stop := context.WithCancel(ctx)
	l := &pageLoad{stop: stop}
	for ready := false; !ready && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if answer, err := http.Get(page + "/-/ready"); err == nil { //nolint:noctx // a test's own page
			answer.Body.Close() //nolint:errcheck // nothing is read
			ready = answer.StatusCode == http.StatusOK
		}
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: requestsASecond}}
	paths := []string{"/", "/v1/metrics", "/v1/releases?metric=views", "/v1/releases?metric=views&key=/home"}
	l.done.Go(func() {
		tick := time.NewTicker(time.Second / requestsASecond)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			<-tick.C
			l.done.Go(func() { l.ask(ctx, client, page+paths[n%len(paths)]) })
		}
	})
	return l
}

func (l *pageLoad) ask(ctx context.Context, client *http.Client, url string) {
	began := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		l.failed.Add(1)
		return
	}
	answer, err := client.Do(request)
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close() //nolint:errcheck // it was read
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		if ctx.Err() == nil {
			l.failed.Add(1)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, time.Since(began))
}

func (l *pageLoad) end() string {
	l.stop()
	l.done.Wait()
	slices.Sort(l.took)
	if len(l.took) == 0 {
		return fmt.Sprintf("; no answer, %d failed", l.failed.Load())
	}
	at := func(q float64) float64 { return ms(l.took[int(q*float64(len(l.took)-1))]) }
	return fmt.Sprintf("; %d answers: median %.2f ms, 99 %% within %.1f, the slowest %.0f; %d failed", len(l.took), at(0.5), at(0.99), at(1), l.failed.Load())
}
