package commands

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// The way of the public: a process without keys shows what a run publishes, while it is published.
func TestServeShowsWhatARunPublishes(t *testing.T) {
	t.Parallel()
	long.Test(t)
	addr := commandtest.Broker(t)
	cfg := commandtest.DeploymentFile(t, addr)
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start",
		"2025-03-01")
	mustRun(t, "replay", "--config", cfg, "--input", visits(t, false))

	text := must.Have(os.ReadFile(cfg))
	alone := commandtest.Write(t, "tollgate.yaml", string(text)) // in a folder where there are no keys
	if _, err := os.Stat(filepath.Join(filepath.Dir(alone), "secrets")); err == nil {
		t.Fatal("keys are beside the configuration of serve")
	}
	var out, errs await.Buffer
	p := startProcess(t, &out, &errs, "serve", "--config", alone, "--listen", "127.0.0.1:0", "--title",
		"Visits <of our shop>", "--keep", "3")
	says(t, &errs, "read all published values")
	base := regexp.MustCompile(`http://[0-9.:]+`).FindString(errs.String())
	get := func(path string) (int, string) {
		answer := must.Have(http.Get(base + path))
		defer answer.Body.Close()
		body := must.Have(io.ReadAll(answer.Body))
		return answer.StatusCode, string(body)
	}
	if _, page := get("/"); !strings.Contains(page, "<h1>Visits &lt;of our shop&gt;</h1>") || !strings.Contains(page,
		"No value is published yet.") {
		t.Error("the page before anything was published")
	}
	stdout, _ := mustRun(t, "run", "--config", cfg, "--until", "2025-03-05", "--wait", "1m", "--format", "json")
	published := strings.Split(strings.TrimSpace(stdout), "\n")
	var values string
	await.That(t, patience, "the values of the last three days are served", func() bool {
		_, values = get("/v1/releases")
		return strings.Count(values, `"metric"`) == 9 && strings.Contains(values, "2025-03-05T00:00:00Z")
	})
	for _, line := range published[len(published)-9:] {
		if !strings.Contains(values, line) {
			t.Errorf("run has printed %s, which is not served", line)
		}
	}
	if _, page := get("/"); !strings.Contains(page, "<dt>released values</dt><dd>9</dd>") {
		t.Error("the page has other values")
	}

	taken := strings.TrimPrefix(base, "http://")
	code, _, stderr := tollgate(t, "serve", "--config", alone, "--listen", taken)
	if code != command.ExitError || !strings.Contains(stderr, "--listen: listen tcp "+taken) {
		t.Errorf("a taken port: exit %d, stderr %s", code, stderr)
	}
	if strings.Contains(errs.String()+out.String()+values, "person-") {
		t.Error("a user's id is shown")
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.code(t); code != command.ExitOK || out.String() != "" {
		t.Errorf("exit %d, stdout %q, stderr %s", code, out.String(), errs.String())
	}
	if _, err := net.Dial("tcp", taken); err == nil {
		t.Error("it still listens")
	}
}
