package serve

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

var monday = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC).UnixMilli()

const minute = int64(time.Minute / time.Millisecond)

// configuration has a metric of private keys, views, and one of the empty key, visits.
func configuration(addr string) deployment.Config {
	cfg := deploytest.Config(addr)
	cfg.Deployment = "shop"
	cfg.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPrivate}
	cfg.Metrics = append(cfg.Metrics, cfg.Metrics[0])
	cfg.Metrics[1].Name, cfg.Metrics[1].Keys = "visits", deployment.Keys{Mode: deployment.KeysPublic,
		List: []string{""}}
	return cfg
}

func compiled(t testing.TB, addr string, change ...func(*deployment.Config)) *pipeline.Deployment {
	t.Helper()
	cfg := configuration(addr)
	for _, fn := range change {
		fn(&cfg)
	}
	d, err := pipeline.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// digests are the digests of the metrics of compiled.
var digests = sync.OnceValue(func() map[string][32]byte {
	all := map[string][32]byte{}
	cfg := configuration("127.0.0.1:1")
	d, err := pipeline.Compile(cfg)
	if err != nil {
		panic(err)
	}
	for _, m := range d.Metrics {
		all[m.Spec.Name] = m.Digest
	}
	return all
})

// value is a released value of a window of a minute.
func value(metric, key string, window int, v float64) schemas.Release {
	start := monday + int64(window)*minute
	return schemas.Release{
		Turn: uint64(window + 1), Metric: metric, MetricDigest: digests()[metric], WindowStart: start,
		WindowEnd: start + minute, Key: key, Value: int64(v * 1024), StdDev: 12.5,
		Low: v - 24.5, High: v + 24.5, Precision: units.Precision{Lo: 1 << 60}, Confidence: 0.95, Met: v > 490,
		Rungs: 3, NoiseKeyID: "k1",
	}
}

// windows are the values of some windows: the keys home and cart of views, home alone in every
// other window, and the empty key of visits.
func windows(from, to int) (all []schemas.Release) {
	for i := from; i < to; i++ {
		if i%2 == 0 {
			all = append(all, value("views", "cart", i, 400+float64(i)))
		}
		all = append(all, value("views", "home", i, 900+float64(i)), value("visits", "", i, 1200))
	}
	return all
}

var someOptions = Options{Keep: 500, Clients: 100, Refresh: 100 * time.Millisecond,
	Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}

// served is a server in a test.
type served struct {
	*server
	*httptest.Server
	t testing.TB
}

func serveValues(t testing.TB, rows []schemas.Release) *served {
	t.Helper()
	s, err := newServer(compiled(t, "127.0.0.1:1"), someOptions)
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.handler()
	if err != nil {
		t.Fatal(err)
	}
	v := &served{server: s, Server: httptest.NewServer(h), t: t}
	t.Cleanup(v.Close)
	v.show(rows)
	return v
}

func (s *served) show(rows []schemas.Release) {
	s.t.Helper()
	if err := s.server.show(rows, true); err != nil {
		s.t.Fatal(err)
	}
	s.responded.Store(time.Now().UnixMilli())
}

// got is a response.
type got struct {
	code   int
	header http.Header
	body   string
}

// ask asks with header fields, given as names and values in turn. Nothing is unpacked.
func (s *served) request(method, path string, fields ...string) got {
	s.t.Helper()
	r, err := http.NewRequest(method, s.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	for field := range slices.Chunk(fields, 2) {
		r.Header.Set(field[0], field[1])
	}
	response, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return got{response.StatusCode, response.Header, string(body)}
}

func (s *served) get(path string, fields ...string) got {
	s.t.Helper()
	return s.request(http.MethodGet, path, fields...)
}

// Each metric's newest windows stay, in whatever order its values arrive, and no more values than
// the limit while a metric has more than one window.
func TestTheNewestWindowsAreKept(t *testing.T) {
	all := windows(0, 40)
	random := rand.New(runseed.PCG(t, 1, 2))
	for range 20 {
		v := &values{keep: 7, limit: 1000}
		shuffled := slices.Clone(all)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for part := range slices.Chunk(shuffled, 9) {
			v.add(part)
		}
		if got := v.rows(); !slices.Equal(got, windows(33, 40)) {
			t.Fatalf("%d values are kept, want those of the last seven windows", len(got))
		}
	}

	v := &values{keep: 30, limit: 50}
	most := 0
	for i := range 40 {
		v.add(windows(i, i+1))
		most = max(most, len(v.all))
	}
	rows := v.rows()
	if most > 100 || len(rows) > 50 || len(rows) < 46 {
		t.Errorf("%d values are kept with a limit of 50, at most %d meanwhile", len(rows), most)
	}
	count := map[string]int{}
	for _, r := range rows {
		count[r.Metric+"/"+r.Key]++
	}
	if count["visits/"] < 15 || count["views/home"] < 15 {
		t.Errorf("the limit is not divided: %v", count)
	}

	v = &values{keep: 3, limit: 5}
	var one []schemas.Release
	for k := range 20 {
		one = append(one, value("views", fmt.Sprintf("k%02d", k), 0, 1))
	}
	v.add(one)
	if got := len(v.rows()); got != 20 {
		t.Errorf("%d of the 20 values of the only window are kept", got)
	}
	v.add(windows(1, 2))
	if got := len(v.rows()); got != 2 {
		t.Errorf("%d values are kept after the next window, want its own two", got)
	}
}

// The values that a reader holds do not change when others arrive.
func TestRowsNeverChange(t *testing.T) {
	v := &values{keep: 5, limit: 1000}
	v.add(windows(0, 4))
	rows, want := v.rows(), windows(0, 4)
	v.add(windows(4, 20))
	v.add(windows(-3, -1))
	v.rows()
	if !slices.Equal(rows, want) {
		t.Error("rows have changed")
	}
}

// A day of 23 hours is one of the days that are kept, and goes when it is the oldest.
func TestDaysOfAZoneAreOneSeries(t *testing.T) {
	v := &values{keep: 2, limit: 1000, clock: wallclock.Of("Europe/Zurich")}
	begin := []time.Time{
		time.Date(2025, 3, 29, 23, 0, 0, 0, time.UTC), time.Date(2025, 3, 30, 22, 0, 0, 0, time.UTC),
		time.Date(2025, 3, 31, 22, 0, 0, 0, time.UTC), time.Date(2025, 4, 1, 22, 0, 0, 0, time.UTC),
	}
	for i, from := range begin[:3] {
		v.add([]schemas.Release{{Metric: "views", WindowStart: from.UnixMilli(), WindowEnd: begin[i+1].UnixMilli(),
			Key: "a"}})
	}
	if kept := v.rows(); len(kept) != 2 || kept[0].WindowStart != begin[1].UnixMilli() {
		t.Errorf("kept: %v", kept)
	}
}
