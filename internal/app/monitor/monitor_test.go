package monitor

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/tollgate-dp/tollgate/pipeline"
)

func state() pipeline.RunState {
	return pipeline.RunState{
		Run: 3, Epoch: 9, Epochs: 3, Generation: 2, Closed: 12, Settled: 11, ClosedTo: time.Unix(1_740_787_200, 0),
		SettledTo: time.Unix(1_740_783_600, 0),
		OpenFor:   1500 * time.Millisecond, Broker: true, Losses: map[string]pipeline.LossLevel{"late": 1},
		DeadLetters: "few",
		Totals: pipeline.Totals{Read: 98_765_432, DeadLetters: map[string]uint64{"no user": 4_321_987},
			Lost: map[string]uint64{"late": 5_432_198}},
		Partitions: []pipeline.PartitionState{{ID: 0, Lag: 1001 * time.Millisecond, LagKnown: true,
			Records: 777_777_777}, {ID: 1, Records: 888_888_888}},
	}
}

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// ownMetrics returns the lines of metrics that are not of the process and of Go.
func ownMetrics(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "tollgate_") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestMetricsAreSecondsAndStates(t *testing.T) {
	m := New(Options{Version: "v1", Revision: "abc"})
	m.Set(state())
	_, text := get(t, m.Handler(), "/metrics")
	got := slices.DeleteFunc(ownMetrics(text), func(line string) bool {
		return strings.HasPrefix(line, "tollgate_build_info{")
	})
	want := []string{
		"tollgate_broker_up 1", "tollgate_dead_letter_level 1", "tollgate_epoch 9", "tollgate_generation 2",
		`tollgate_lag_seconds{partition="0"} 2`, `tollgate_loss_level{reason="late"} 1`,
		"tollgate_open_turn_age_seconds 1.5",
		"tollgate_ready 1", "tollgate_restarts_total 2", "tollgate_settled_timestamp_seconds 1.7407836e+09",
		"tollgate_turns_settled_total 11",
		"tollgate_watermark_timestamp_seconds 1.7407872e+09",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if strings.Contains(text, "98765432") || strings.Contains(text, "9.8765432e") || strings.Contains(text,
		"5.432198e") || strings.Contains(text, "7.77777777e") || strings.Contains(text, "no user") {
		t.Errorf("an exact number is in\n%s", text)
	}
	m = New(Options{Trusted: true})
	m.Set(state())
	_, text = get(t, m.Handler(), "/metrics")
	for _, want := range []string{`tollgate_lag_records{partition="1"} 8.88888888e+08`,
		"tollgate_records_total 9.8765432e+07", `tollgate_dead_letters_total{class="no user"} 4.321987e+06`,
		`tollgate_lost_records_total{reason="late"} 5.432198e+06`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	for _, p := range problems {
		if !strings.HasPrefix(p.Metric, "go_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// docs/metrics.md defines every metric, and no other one.
func TestEveryMetricIsDefined(t *testing.T) {
	m := New(Options{Trusted: true})
	m.Set(state())
	_, text := get(t, m.Handler(), "/metrics")
	served := map[string]bool{}
	for _, line := range ownMetrics(text) {
		served[line[:strings.IndexAny(line, "{ ")]] = true
	}
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(tollgate_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		if !strings.HasPrefix(match[1], "tollgate_serve_") {
			defined[match[1]] = true
		}
	}
	if !maps.Equal(served, defined) {
		t.Errorf("served: %v\ndefined: %v", slices.Sorted(maps.Keys(served)), slices.Sorted(maps.Keys(defined)))
	}
}

func TestReadyIsTheStateOfTheRun(t *testing.T) {
	now := time.Unix(1_740_787_200, 0)
	m := New(Options{})
	m.now = func() time.Time { return now }
	h := m.Handler()
	check := func(code int, text string) {
		t.Helper()
		if got, body := get(t, h, "/-/ready"); got != code || body != text+"\n" {
			t.Errorf("%d %s, want %d %s", got, body, code, text)
		}
		if _, metrics := get(t, h, "/metrics"); strings.Contains(metrics, "tollgate_ready 1\n") != (code == 200) {
			t.Errorf("the metric says something else than %s", text)
		}
		if got, body := get(t, h, "/-/healthy"); got != 200 || body != "alive\n" {
			t.Errorf("%d %s", got, body)
		}
	}
	check(503, "not ready: starting")
	m.Set(state())
	check(200, "ready")
	now = now.Add(11 * time.Second)
	check(503, "not ready: the run has reported nothing since 2025-03-01T00:00:00Z")
	s := state()
	s.NotReady = "counts have been due since 2025-03-01T00:00:00Z"
	m.Set(s)
	check(503, "not ready: "+s.NotReady)
	for path, want := range map[string]int{"/": 404, "/debug/pprof/": 404, "/metrics/x": 404, "/-/": 404} {
		if code, _ := get(t, h, path); code != want {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, text := get(t, New(Options{Profiles: true}).Handler(), "/debug/pprof/"); code != 200 ||
		!strings.Contains(text, "goroutine") {
		t.Errorf("profiles: %d", code)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/-/ready", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// Clients that send much, or nothing, are refused, and hold up no other one.
func TestBadClientsHoldUpNothing(t *testing.T) {
	m := New(Options{})
	m.Set(state())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, m.Handler())
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range maxClients / 2 { // they say nothing more
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // of a test
		fmt.Fprint(conn, "GET /metr")
	}
	for name, request := range map[string]string{
		"a large header": "GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
		"a large path":   "GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"no HTTP":        "\x00\x01\x02\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second)) //nolint:errcheck // of a test
		fmt.Fprint(conn, request)                          //nolint:errcheck // it may be cut off
		if answer, _ := io.ReadAll(conn); len(answer) > 0 && !strings.Contains(string(answer), " 4") {
			t.Errorf("%s: %s", name, answer)
		}
		conn.Close() //nolint:errcheck // of a test
	}
	client := http.Client{Timeout: time.Minute}
	answer, err := client.Get("http://" + s.Addr() + "/-/ready")
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("%v, %v", answer, err)
	}
	answer.Body.Close() //nolint:errcheck // of a test
	client.CloseIdleConnections()
}
