package serve

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// load asks at a steady rate, whether answers come or not, as many clients do: pages that are open
// (with the tag that they have), new readers, and programs.
type load struct {
	base string
	rate int // requests per second

	mu     sync.Mutex
	took   []time.Duration
	failed atomic.Int64
	bytes  atomic.Int64
	tag    atomic.Value // of the last page
}

var asked = []string{"/", "/", "/", "/", "/", "/", "new", "/v1/releases?metric=views&key=a&limit=10", "/v1/releases", "/v1/releases?metric=views&limit=1000"}

func (l *load) run(stop <-chan struct{}) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(time.Second / time.Duration(l.rate))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
			all.Go(func() { l.ask(client, asked[i%len(asked)]) })
		case <-stop:
			return
		}
	}
}

func (l *load) ask(client *http.Client, what string) {
	path := what
	if what == "new" {
		path = "/"
	}
	r, err := http.NewRequest(http.MethodGet, l.base+path, nil)
	if err != nil {
		l.failed.Add(1)
		return
	}
	r.Header.Set("Accept-Encoding", "gzip")
	if tag, ok := l.tag.Load().(string); ok && what == "/" {
		r.Header.Set("If-None-Match", tag)
	}
	began := time.Now()
	answer, err := client.Do(r)
	if err != nil {
		l.failed.Add(1)
		return
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if took := time.Since(began); err == nil && answer.StatusCode < 400 {
		l.mu.Lock()
		l.took = append(l.took, took)
		l.mu.Unlock()
	} else {
		l.failed.Add(1)
	}
	l.bytes.Add(n)
	if path == "/" {
		l.tag.Store(answer.Header.Get("ETag"))
	}
}

// BenchmarkPublic is a run that settles a turn after the other while nothing, or a served page, or
// a served page with so many requests a second, is beside it, all in one process; and what the
// clients see.
func BenchmarkPublic(b *testing.B) {
	for _, tc := range []struct {
		name string
		rate int // -1: nothing is served
	}{{"alone", -1}, {"served", 0}, {"requests=200", 200}, {"requests=1000", 1000}} {
		b.Run(tc.name, func(b *testing.B) { benchmarkPublic(b, tc.rate) })
	}
}

func benchmarkPublic(b *testing.B, rate int) {
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer broker.Close()
	d := compiled(b, broker.Addr(), publicSeconds)
	begin(b, d, b.N, 30)
	l := &load{rate: rate}
	stop := make(chan struct{})
	var over sync.WaitGroup
	if rate >= 0 {
		r := run(b, d, func(o *Options) { o.Clients = 2000 })
		l.base = "http://" + r.addr
		for code := 0; code != http.StatusOK; time.Sleep(10 * time.Millisecond) {
			code, _ = r.get(b, "/-/ready")
		}
	}
	if rate > 0 {
		over.Go(func() { l.run(stop) })
	}
	b.ResetTimer()
	began := time.Now()
	if _, err := pipeline.Run(b.Context(), d, pipeline.RunOptions{Bounded: true}); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	seconds := time.Since(began).Seconds()
	close(stop)
	over.Wait()
	if rate <= 0 {
		return
	}
	slices.Sort(l.took)
	at := func(part float64) float64 {
		return float64(l.took[int(part*float64(len(l.took)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "ms/median")
	b.ReportMetric(at(0.99), "ms/p99")
	b.ReportMetric(at(1), "ms/most")
	b.ReportMetric(float64(len(l.took))/seconds, "answers/s")
	b.ReportMetric(float64(l.failed.Load()), "failed")
	b.ReportMetric(float64(l.bytes.Load())/seconds/1e6, "MB/s")
}

// BenchmarkView is what one change costs: the page made and packed, and the index.
func BenchmarkView(b *testing.B) {
	d := compiled(b, "127.0.0.1:1")
	for _, n := range []int{1_000, 10_000, 100_000, report.MaxPoints} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			v := &values{keep: n, limit: n}
			random := rand.New(runseed.PCG(b, 1, 2))
			for i := 0; len(v.all) < n; i++ {
				for k := range 25 {
					v.all = append(v.all, value("views", fmt.Sprintf("key-%02d", k), i, 1000*float64(k+1)*(1+random.Float64())))
				}
			}
			rows := v.rows()
			b.ReportAllocs()
			for b.Loop() {
				view, err := newView(d, rows, report.Options{}, report.Live{Every: time.Second})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(view.page.plain))/1e6, "MB")
				b.ReportMetric(float64(len(view.page.packed))/1e6, "MB/packed")
			}
		})
	}
}

// BenchmarkAnswer is what one answer costs, without the network.
func BenchmarkAnswer(b *testing.B) {
	s := serveValues(b, windows(0, 500))
	h, err := s.handler()
	if err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"page": "/", "releases=100": "/v1/releases", "releases=1000": "/v1/releases?limit=1000", "key": "/v1/releases?metric=views&key=home&limit=10"} {
		b.Run(name, func(b *testing.B) {
			r, err := http.NewRequest(http.MethodGet, path, nil)
			if err != nil {
				b.Fatal(err)
			}
			r.RequestURI = path
			r.Header.Set("Accept-Encoding", "gzip")
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(&sink{header: http.Header{}}, r)
			}
		})
	}
}

// sink is an http.ResponseWriter.
type sink struct {
	header http.Header
	bytes.Buffer
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(int)     {}
