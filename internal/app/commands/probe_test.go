package commands

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/monitor"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// probe says what a run's own page says, whatever proxy is set, and follows no redirect.
func TestProbeIsReadiness(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	m := monitor.New(monitor.Options{})
	mux := http.NewServeMux()
	mux.Handle("/-/", m.Handler())
	mux.Handle("/elsewhere", http.RedirectHandler("/-/healthy", http.StatusFound))
	release := make(chan struct{})
	mux.HandleFunc("/never", func(http.ResponseWriter, *http.Request) { <-release })
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(release)

	probe := func(path string, want int, says string) {
		t.Helper()
		code, stdout, stderr := tollgate(t, "probe", "--url", server.URL+path, "--timeout", "1s")
		if code != want || !strings.Contains(stdout+stderr, says) || (stdout == "") != (want != command.ExitOK) {
			t.Errorf("%s: exit %d, %s%s", path, code, stdout, stderr)
		}
	}
	probe("/-/healthy", command.ExitOK, "alive")
	probe("/-/ready", command.ExitError, "not ready: starting")
	m.Set(pipeline.RunState{})
	probe("/-/ready", command.ExitOK, "ready")
	m.Set(pipeline.RunState{NotReady: "no broker answers"})
	probe("/-/ready", command.ExitError, "no broker answers")
	probe("/elsewhere", command.ExitError, "302")
	began := time.Now()
	probe("/never", command.ExitError, "deadline exceeded")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("--timeout 1s took %s", took)
	}
	server.CloseClientConnections()
	if code, _, stderr := tollgate(t, "probe", "--url", "http://127.0.0.1:1/"); code != command.ExitError ||
		!strings.Contains(stderr, "asking http://127.0.0.1:1/: nothing listens there") {
		t.Errorf("nothing listens: exit %d, %s", code, stderr)
	}
	if code, stdout, stderr := tollgate(t, "probe", "--url", "http://ada:hunter2@127.0.0.1:1/"); code !=
		command.ExitUsage || strings.Contains(stdout+stderr, "hunter2") {
		t.Errorf("a password: exit %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := tollgate(t, "probe", "--url", "localhost:9464"); code != command.ExitUsage ||
		!strings.Contains(stderr, "an address like") {
		t.Errorf("no scheme: exit %d, %s", code, stderr)
	}
}
