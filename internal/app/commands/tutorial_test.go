package commands

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// kafkaLocal starts a broker with the script that the tutorial names, and returns its address.
func kafkaLocal(t *testing.T) string {
	t.Helper()
	scripts := must.Have(filepath.Abs(filepath.Join("..", "..", "..", "deploy", "kafka-local")))
	dir := filepath.Join(t.TempDir(), "kafka")
	script := func(name string, args ...string) (stdout, stderr string, err error) {
		var out, errs strings.Builder
		cmd := exec.Command(filepath.Join(scripts, name), append([]string{"--dir", dir}, args...)...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err = cmd.Run()
		return strings.TrimSpace(out.String()), errs.String(), err
	}
	free := must.Have(net.Listen("tcp", "127.0.0.1:0"))
	_, port, err := net.SplitHostPort(free.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, printed, err := script("start.sh", "--port", port); err == nil || !strings.Contains(printed, "port "+port+
		" is taken: end what listens there, or choose another --port") {
		t.Errorf("a port that is taken: %v, %s", err, printed)
	}
	free.Close() //nolint:errcheck // of a test
	if _, printed, err := script("start.sh", "--version", "newest"); err == nil || !strings.Contains(printed,
		"--version is newest: it must be one as 4.3.1") {
		t.Errorf("a version that is none: %v, %s", err, printed)
	}
	addr, printed, err := script("start.sh", "--port", port)
	if err != nil || addr != "localhost:"+port {
		t.Fatalf("start.sh: %v, %q, %s", err, addr, printed)
	}
	t.Cleanup(func() {
		if _, printed, err := script("stop.sh", "--delete"); err != nil {
			t.Errorf("stop.sh: %v, %s", err, printed)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	})
	if _, printed, err := script("start.sh", "--port", port); err == nil || !strings.Contains(printed, "runs already") {
		t.Errorf("a second start: %v, %s", err, printed)
	}
	return addr
}

// The commands of docs/tutorial.md, on a Kafka as its script starts it, print what the page shows.
// Only the windows are shorter, so that the counts come within a minute, with less noise, and
// events may be later, as on a busy machine.
func TestTheTutorialShowsCounts(t *testing.T) {
	long.Test(t)
	switch err := realkafka.Missing(); {
	case err != nil && os.Getenv("TOLLGATE_REQUIRE_KAFKA") == "1":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	page := contentsOf(t, filepath.Join("..", "..", "..", "docs", "tutorial.md"))
	block := func(begins string) string {
		_, rest, found := strings.Cut(page, "```"+begins)
		body, _, closed := strings.Cut(rest, "\n```")
		if !found || !closed {
			t.Fatalf("the tutorial has no block that begins with %q", begins)
		}
		return begins + body
	}
	addr := kafkaLocal(t)
	t.Chdir(t.TempDir())
	_, file, _ := strings.Cut(strings.Replace(block("yaml\n"), "localhost:9092", addr, 1), "\n")
	must.Succeed(t, os.WriteFile("tollgate.yaml", []byte(file), 0o600))
	// follow runs a block of one command, and demands every line that the page shows as its output.
	follow := func(command, shows string) {
		t.Helper()
		args, _ := strings.CutPrefix(strings.TrimSpace(block("sh\n./tollgate "+command)), "sh\n./tollgate ")
		stdout, stderr := mustRun(t, strings.Fields(args)...)
		for line := range strings.Lines(block("\n" + shows)) {
			if !strings.Contains(stdout+stderr, strings.TrimSpace(line)) {
				t.Errorf("tollgate %s does not print %q: %s%s", args, strings.TrimSpace(line), stdout, stderr)
			}
		}
	}
	follow("validate", "privacy ")
	for _, pair := range [][2]string{{"size: 1m", "size: 10s"}, {"lateness: 10s", "lateness: 30s, idle_grace: 1s"},
		{"absolute: 300", "absolute: 30"}} {
		if !strings.Contains(file, pair[0]) {
			t.Fatalf("the tutorial's file has no %q", pair[0])
		}
		file = strings.Replace(file, pair[0], pair[1], 1)
	}
	must.Succeed(t, os.WriteFile("tollgate.yaml", []byte(file), 0o600))
	follow("init", "made ")

	visits, replay, _ := strings.Cut(strings.TrimPrefix(block("sh\nwhile sleep 5; do"), "sh\nwhile sleep 5; do"),
		"./tollgate ")
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", visits).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", visits, err, out)
	}
	mustRun(t, strings.Fields(strings.TrimSuffix(replay, "done"))...)
	stdout, stderr := mustRun(t, "run", "--config", "tollgate.yaml", "--until-end")
	for _, want := range []string{"value   noise at 95%  exactness", "/home", "/search", "as asked"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout does not say %q: %s", want, stdout)
		}
	}
	if !strings.Contains(stderr, "first window closes ") || strings.Contains(stderr, "late") || strings.Contains(stdout,
		"/admin") {
		t.Errorf("stdout %s, stderr %s", stdout, stderr)
	}
}
