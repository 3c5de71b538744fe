package integration

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// soakVariable has the duration of the soak.
const soakVariable = "TOLLGATE_SOAK"

// soakFault is a fault that lasts for a while.
type soakFault struct {
	name    string
	lasts   time.Duration
	unready bool                     // the run cannot be ready meanwhile
	gone    bool                     // the run does not respond meanwhile
	begin   func(*soak) (end func()) // begins it and returns the function that ends it
}

// soakFaults returns the faults in their order. Long ones last until alerts fire.
func soakFaults() []soakFault {
	const short, long = 25 * time.Second, 165 * time.Second
	kill := func(s *soak) func() { s.c.lose(s.subject); return func() {} }
	broker := func(killed bool) func(*soak) func() {
		return func(s *soak) func() { s.c.brokerDown(killed); return s.c.brokerUp }
	}
	freeze := func(s *soak) func() { s.c.proxy.freeze(); return s.c.proxy.heal }
	cut := func(s *soak) func() {
		for range 5 {
			s.c.proxy.cut()
			s.c.pause(50*time.Millisecond, time.Second)
		}
		return func() {}
	}
	slow := func(s *soak) func() { s.c.proxy.slow(50*time.Millisecond, 200_000); return s.c.proxy.heal }
	stop := func(s *soak) func() {
		p := s.current
		p.signal(syscall.SIGSTOP)
		return func() { p.signal(syscall.SIGCONT) }
	}
	return []soakFault{
		{"run killed", 0, false, false, kill},
		{"network cut", 0, false, false, cut},
		{"broker restarted", 0, false, false, broker(false)},
		{"network slow", short, false, false, slow},
		{"broker killed", long, true, false, broker(true)},
		{"run killed", 0, false, false, kill},
		{"network frozen", long, true, false, freeze},
		{"run stopped", long, false, true, stop},
		{"broker killed", short, true, false, broker(true)},
		{"drained and started", 0, false, false, func(s *soak) func() { s.c.drained(s.subject); return func() {} }},
	}
}

// soak is a deployment that is watched while faults befall it.
type soak struct {
	*subject
	c      *campaign
	faults []soakFault // repeated in this order

	mu      sync.Mutex
	samples []soakSample
}

// soakSample is the state of a run at a time.
type soakSample struct {
	time      time.Time
	up, ready bool
	resident  float64 // bytes
}

// The real binary runs on a real broker with a fault in every minute. The counts equal the
// sequential reference's and an undisturbed run's. A run that cannot continue is not ready within
// half a minute, and is ready again within a minute after the fault. Its memory does not grow.
func TestInvariant5ASoakOfFaultsIsSeenAndChangesNothing(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv(soakVariable))
	if err != nil {
		t.Skipf("a soak takes minutes: `.ci/run soak`, or %s=5m or more", soakVariable)
	}
	c := startCampaign(t, campaignSeed(t))
	(&soak{c: c, faults: soakFaults()}).run(lasts)
}

// run runs a deployment for a time, with a fault in every minute, and compares the results.
func (s *soak) run(lasts time.Duration) {
	c, t := s.c, s.c.t
	t.Helper()
	s.subject = c.newSubject(subjectSettings{name: "campaign-soak", window: time.Second, slots: 10, appendTimes: true},
		time.Now().Add(-5*time.Second).Truncate(time.Second))
	s.args = []string{"--listen", "127.0.0.1:0"}
	c.run(s.subject)
	stop := s.watchMetrics()
	end := time.Now().Add(lasts)
	var rows []string
	for n := 0; time.Now().Before(end); n++ {
		f := s.faults[n%len(s.faults)]
		if lasts < 15*time.Minute && f.lasts > 2*time.Minute {
			f.lasts = 35 * time.Second
		}
		rows = append(rows, s.endure(n+1, f))
	}
	stop()
	if s.current == nil {
		c.run(s.subject)
	}
	s.checkMemory()
	c.faultNow = "the last run"
	row := subjectRow{name: s.settings.name}
	s.args = nil
	c.finish(s.subject, &row)
	t.Logf("%s of faults:\n%s\n%d runs, %d turns, %d values compared with the reference and with an undisturbed run",
		lasts, strings.Join(rows, "\n"), row.runs, row.turns, row.values)
}

// endure applies one fault, checks the run's state, and waits for the next minute.
func (s *soak) endure(number int, f soakFault) string {
	c := s.c
	c.t.Helper()
	c.faultNow = fmt.Sprintf("fault %d (%s)", number, f.name)
	began := time.Now()
	heal := f.begin(s)
	if s.current == nil { // a supervisor starts another run at once
		c.run(s.subject)
	}
	for time.Since(began) < f.lasts {
		time.Sleep(time.Second)
		s.supervise()
	}
	now := s.newest()
	switch {
	case f.gone && now.up:
		c.complain(s.current, "the run is stopped, but responds")
	case f.unready && f.lasts >= 35*time.Second && now.ready:
		c.complain(s.current, "after %s of the fault the run is ready", f.lasts)
	case !f.unready && !f.gone && f.lasts >= 35*time.Second && !now.ready:
		c.complain(s.current, "after %s of the fault the run is not ready, although it can continue", f.lasts)
	}
	heal()
	healed := time.Now()
	for ; !s.isReadySince(healed); time.Sleep(200 * time.Millisecond) {
		if time.Since(healed) > time.Minute {
			s.current.stacks()
			c.complain(s.current, "a minute after the fault the run is not ready")
			healed = time.Now()
		}
		s.supervise()
	}
	line := fmt.Sprintf("%3d  %-20s %4.0f s  ready again after %4.1f s", number, f.name, f.lasts.Seconds(),
		time.Since(healed).Seconds())
	c.t.Log(line)
	for time.Since(began) < f.lasts.Truncate(time.Minute)+time.Minute {
		time.Sleep(time.Second)
		s.supervise()
	}
	return line
}

// supervise starts another run if the last one has ended, as it does after two minutes without a
// broker.
func (s *soak) supervise() {
	if !s.current.alive() {
		s.c.run(s.subject)
	}
}

// isReadySince reports whether a sample after a time is ready.
func (s *soak) isReadySince(t time.Time) bool {
	now := s.newest()
	return now.time.After(t) && now.ready
}

func (s *soak) newest() soakSample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples) == 0 {
		return soakSample{}
	}
	return s.samples[len(s.samples)-1]
}

// watchMetrics reads the metrics of the current run once a second, as Prometheus does.
func (s *soak) watchMetrics() (stop func()) {
	done := make(chan struct{})
	client := http.Client{Timeout: 900 * time.Millisecond}
	var sampling sync.WaitGroup
	sampling.Go(func() {
		defer client.CloseIdleConnections()
		for {
			select {
			case <-done:
				return
			case now := <-time.After(time.Second):
				s.sample(&client, now)
			}
		}
	})
	return func() { close(done); sampling.Wait() }
}

var listens = regexp.MustCompile(`readiness at (http://[0-9.:]+)`)

func (s *soak) sample(client *http.Client, now time.Time) {
	sample := soakSample{time: now}
	text := ""
	if p := s.current; p != nil {
		if found := listens.FindStringSubmatch(p.stderr.String()); found != nil {
			if response, err := client.Get(found[1] + "/metrics"); err == nil {
				body, err := io.ReadAll(response.Body)
				response.Body.Close() //nolint:errcheck // it was read
				sample.up, text = err == nil, string(body)
			}
		}
	}
	sample.ready = value(text, "tollgate_ready") == 1
	sample.resident = value(text, "process_resident_memory_bytes")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, sample)
}

// value returns the value of a metric without labels, or 0 if it is missing.
func value(text, metric string) float64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, metric+" "); ok {
			v, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64) //nolint:errcheck // it is 0 then
			return v
		}
	}
	return 0
}

// checkMemory compares the memory of runs in the first and the last fifth of the soak.
func (s *soak) checkMemory() {
	s.c.t.Helper()
	most := func(part []soakSample) (bytes float64) {
		var all []float64
		for _, sample := range part {
			if sample.resident > 0 {
				all = append(all, sample.resident)
			}
		}
		slices.Sort(all)
		if len(all) == 0 {
			return 0
		}
		return all[len(all)*9/10]
	}
	n := len(s.samples)
	first, last := most(s.samples[:n/5]), most(s.samples[n-n/5:])
	s.c.t.Logf("memory of a run, 90%% of samples: %.0f MB in the first fifth, %.0f MB in the last", first/1e6,
		last/1e6)
	if first == 0 || last > 1.5*first+50e6 {
		s.c.t.Errorf("memory grows from %.0f to %.0f MB", first/1e6, last/1e6)
	}
}
