package commands

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// hostile are keys and users that would break lines, labels, markup or terminals.
var hostile = []string{
	"evil\x1b[31mred", "evil\"},x{y=\"", "evil\\n# HELP x", "evil<script>alert(1)</script>", "evil\u202egnp",
	"evil' OR 1=1", "evil\u0000zero", "evil" + strings.Repeat("x", 5000),
	"evil{{.}}", "evil%s%n", "evil${HOME}", "evil\r", "evil\t", "evil|pipe", "evil,comma", "evil=", "evil\u2028line",
	"evil../../etc/passwd", "evil\U0001F4A9", "evil😀",
}

// While its broker is away a run is not ready, within half a minute, and says why; it is alive
// meanwhile, and ready again afterwards. Whatever records hold, nothing of it is in what is served
// or logged.
func TestReadinessFollowsTheBroker(t *testing.T) {
	long.Test(t)
	dir := t.TempDir()
	b := must.Have(embedded.Start(embedded.Options{DataDir: dir}))
	addr := b.Addr()
	cfg := commandtest.DeploymentFile(t, addr, "epsilon: 4", "epsilon: 5", "format: csv\n  columns: [when, who, "+
		"where]\n", "format: jsonl\n")
	mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start",
		"2025-03-01")
	var lines strings.Builder
	for i, text := range hostile {
		fmt.Fprintf(&lines, "{\"when\": \"2025-03-0%dT10:00:00Z\", \"who\": %q, \"where\": %q}\n{\"when\": \"%s\"}\n",
			1+i%3, strings.ToValidUTF8(text, ""), strings.ToValidUTF8(text, ""), "evil")
	}
	mustRun(t, "replay", "--config", cfg, "--input", commandtest.Write(t, "evil.jsonl",
		strings.ReplaceAll(lines.String(), `\x`, `\u00`)))
	r := begin("run", "--config", cfg, "--listen", "127.0.0.1:0", "--metrics-trusted")
	says(t, &r.stderr, "metrics and readiness at http://")
	base := regexp.MustCompile(`http://[0-9.:]+`).FindString(r.stderr.String())
	get := func(path string) (int, string) {
		answer, err := http.Get(base + path)
		if err != nil {
			t.Fatalf("%v; the run printed:\n%s", err, r.stderr.String())
		}
		defer answer.Body.Close() //nolint:errcheck // of a test
		body := must.Have(io.ReadAll(answer.Body))
		return answer.StatusCode, string(body)
	}
	ready := func(within time.Duration, want int) (text string) {
		await.That(t, within, fmt.Sprintf("/-/ready gives %d", want), func() bool {
			var code int
			code, text = get("/-/ready")
			return code == want
		})
		return text
	}
	ready(patience, 200)
	says(t, &r.stdout, "2025-03-03")
	_, metrics := get("/metrics")
	for _, want := range []string{"tollgate_ready 1\n", "tollgate_broker_up 1\n",
		"tollgate_lag_seconds{partition=\"0\"} 0\n", "tollgate_generation 1\n", "tollgate_restarts_total 0\n",
		"tollgate_dead_letters_total{class="} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	b.Close()
	if text := ready(32*time.Second, 503); !strings.Contains(text, "not ready: ") {
		t.Errorf("%s", text)
	}
	if code, _ := get("/-/healthy"); code != 200 {
		t.Errorf("healthy: %d", code)
	}
	// On a busy machine it may be not ready for another reason first.
	await.That(t, patience, "metrics say that there is no broker", func() bool {
		_, metrics := get("/metrics")
		return strings.Contains(metrics, "tollgate_ready 0\n") && strings.Contains(metrics, "tollgate_broker_up 0\n") &&
			!strings.Contains(metrics, "tollgate_lag_seconds{partition=\"0\"} 0\n")
	})
	b = must.Have(embedded.Start(embedded.Options{Addr: addr, DataDir: dir}))
	defer func() { b.Close() }()
	ready(patience, 200)
	_, after := get("/metrics")
	terminate(t)
	<-r.over
	for name, text := range map[string]string{"/metrics": metrics + after, "stderr": r.stderr.String()} {
		if strings.Contains(text, "evil") {
			t.Errorf("%s has something of a record:\n%s", name, text)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
