package monitor

import (
	"fmt"
	"math"
	"net/http"
	"net/http/pprof"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tollgate-dp/tollgate/internal/app/monitor/process"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// Options configures the served pages.
type Options struct {
	Version, Revision string // version and revision of the program
	Trusted           bool   // whether to serve exact numbers of records
	Profiles          bool   // whether to serve /debug/pprof/
}

// Monitor serves the latest state of a run. It is safe for concurrent use.
type Monitor struct {
	o        Options
	registry *prometheus.Registry
	now      func() time.Time

	mu       sync.Mutex
	state    *pipeline.RunState // the latest state; nil before the first
	received time.Time          // time when state was received
}

// maxAge is the maximum age of the latest state of a ready run. A run sends one about every second.
const maxAge = 10 * time.Second

// New returns a Monitor without a state: the run is alive, but not ready.
func New(o Options) *Monitor {
	m := &Monitor{o: o, registry: prometheus.NewRegistry(), now: time.Now}
	m.registry.MustRegister(&exporter{m})
	return m
}

// Set replaces the state of the run.
func (m *Monitor) Set(s pipeline.RunState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state, m.received = &s, m.now()
}

// last returns the latest state, or nil before the first state. notReady is the reason why the run
// is not ready, or "" if it is ready.
func (m *Monitor) last() (s *pipeline.RunState, notReady string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.state == nil:
		return nil, "starting"
	case m.now().Sub(m.received) > maxAge:
		return m.state, "the run has reported nothing since " + m.received.UTC().Format(time.RFC3339)
	}
	return m.state, m.state.NotReady
}

// Handler serves /metrics, /-/healthy and /-/ready and, with Options.Profiles, /debug/pprof/. Texts
// are single lines. http.Error writes them with any status, including 200.
func (m *Monitor) Handler() http.Handler {
	mux := http.NewServeMux()
	metrics := promhttp.HandlerFor(process.Gatherer(m.registry), promhttp.HandlerOpts{MaxRequestsInFlight: 4,
		Timeout: 5 * time.Second})
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "alive", http.StatusOK)
	})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if _, notReady := m.last(); notReady != "" {
			http.Error(w, "not ready: "+notReady, http.StatusServiceUnavailable)
			return
		}
		http.Error(w, "ready", http.StatusOK)
	})
	if m.o.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// exporter collects metrics of the latest state.
type exporter struct{ m *Monitor }

var (
	partition = []string{"partition"}

	build = prometheus.NewDesc("tollgate_build_info", "Always 1; labels name the build of the program.",
		[]string{"version", "revision", "go"}, nil)
	lag = prometheus.NewDesc("tollgate_lag_seconds", "How long ago the last record that was read from a "+
		"partition was appended, in whole seconds, rounded up; 0 at its end, and while no broker responds the time "+
		"since the end was known. Absent if the events topic does not have append times.", partition, nil)
	openTurn = prometheus.NewDesc("tollgate_open_turn_age_seconds", "How long the turn that is being released has "+
		"been open; 0 if none is.", nil, nil)
	watermark = prometheus.NewDesc("tollgate_watermark_timestamp_seconds", "Event time up to which windows are "+
		"closed.", nil, nil)
	settledTo = prometheus.NewDesc("tollgate_settled_timestamp_seconds", "Event time up to which counts are "+
		"published, complete and charged.", nil, nil)
	turns = prometheus.NewDesc("tollgate_turns_settled_total", "How many turns of the deployment are settled: "+
		"their counts are published, complete and charged.", nil, nil)
	restarts = prometheus.NewDesc("tollgate_restarts_total", "How often the run restarted itself: epochs "+
		"after its first one.", nil, nil)
	epoch = prometheus.NewDesc("tollgate_epoch", "The number of the epoch in force; -1 before the first.", nil,
		nil)
	generation = prometheus.NewDesc("tollgate_generation", "The generation of the deployment that is in force.", nil,
		nil)
	ready    = prometheus.NewDesc("tollgate_ready", "1 if /-/ready reports that the run is ready, else 0.", nil, nil)
	brokerUp = prometheus.NewDesc("tollgate_broker_up", "1 if every broker that was asked responds, else 0.", nil,
		nil)
	lagRecords = prometheus.NewDesc("tollgate_lag_records", "Records of a partition that are not read yet. Exact: "+
		"for the trusted side only.", partition, nil)
	recordsTotal = prometheus.NewDesc("tollgate_records_total", "Records that this process was the first to read, "+
		"without dead letters. Exact: for the trusted side only.", nil, nil)
	lostTotal = prometheus.NewDesc("tollgate_lost_records_total", "Records that are not counted, by reason; "+
		"beyond_allowance: once for each window of a metric. Exact: for the trusted side only.", []string{"reason"},
		nil)
	lossLevel = prometheus.NewDesc("tollgate_loss_level", "How many of the newest records are not counted, by "+
		"reason: 0 none, 1 some, 2 more than half.", []string{"reason"}, nil)
	deadLevel = prometheus.NewDesc("tollgate_dead_letter_level", "How many of the records of the last hour are "+
		"dead letters: 0 fewer than ten, 1 fewer than one in a hundred, 2 at least one in a hundred, 3 more than half.",
		nil, nil)
	deadLetters = prometheus.NewDesc("tollgate_dead_letters_total", "Records that this process was the first to read "+
		"and that are no events, by class. Exact: for the trusted side only.", []string{"class"}, nil)
)

// Describe implements prometheus.Collector.
func (e *exporter) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{build, lag, openTurn, watermark, settledTo, turns, restarts, epoch, generation,
		ready, brokerUp, lossLevel, deadLevel} {
		to <- d
	}
	if e.m.o.Trusted {
		for _, d := range []*prometheus.Desc{lagRecords, recordsTotal, lostTotal, deadLetters} {
			to <- d
		}
	}
}

// Collect implements prometheus.Collector.
func (e *exporter) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge(build, 1, e.m.o.Version, e.m.o.Revision, runtime.Version())
	s, notReady := e.m.last()
	gauge(ready, truth(notReady == ""))
	if s == nil {
		return
	}
	gauge(brokerUp, truth(s.Broker))
	gauge(openTurn, s.OpenFor.Seconds())
	gauge(watermark, seconds(s.ClosedTo))
	gauge(settledTo, seconds(s.SettledTo))
	counter(turns, float64(s.Settled))
	counter(restarts, float64(max(0, s.Epochs-1)))
	gauge(epoch, float64(s.Epoch))
	gauge(generation, float64(s.Generation))
	for _, p := range s.Partitions {
		id := fmt.Sprint(p.ID)
		if p.LagKnown {
			gauge(lag, math.Ceil(p.Lag.Seconds()), id) // a fraction would reveal the time of one record
		}
		if e.m.o.Trusted {
			gauge(lagRecords, float64(p.Records), id)
		}
	}
	for reason, level := range s.Losses {
		gauge(lossLevel, float64(level), reason)
	}
	gauge(deadLevel, float64(slices.Index([]pipeline.DeadLetterLevel{"none", "few", "some", "most"}, s.DeadLetters)))
	if e.m.o.Trusted {
		counter(recordsTotal, float64(s.Totals.Read))
		for reason, n := range s.Totals.Lost {
			counter(lostTotal, float64(n), reason)
		}
		for class, n := range s.Totals.DeadLetters {
			counter(deadLetters, float64(n), class)
		}
	}
}

func truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
