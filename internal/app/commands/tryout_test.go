package commands

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// kafkaLocal starts a broker with the script that README names, and returns its address.
func kafkaLocal(t *testing.T) string {
	t.Helper()
	scripts, err := filepath.Abs(filepath.Join("..", "..", "..", "deploy", "kafka-local"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "kafka")
	script := func(name string, args ...string) (stdout, stderr string, err error) {
		var out, errs strings.Builder
		cmd := exec.Command(filepath.Join(scripts, name), append([]string{"--dir", dir}, args...)...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err = cmd.Run()
		return strings.TrimSpace(out.String()), errs.String(), err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(free.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, said, err := script("start.sh", "--port", port); err == nil || !strings.Contains(said, "port "+port+" is taken: end what listens there, or choose another --port") {
		t.Errorf("a port that is taken: %v, %s", err, said)
	}
	free.Close() //nolint:errcheck // of a test
	if _, said, err := script("start.sh", "--version", "newest"); err == nil || !strings.Contains(said, "--version is newest: it must be one as 4.3.1") {
		t.Errorf("a version that is none: %v, %s", err, said)
	}
	addr, said, err := script("start.sh", "--port", port)
	if err != nil || addr != "localhost:"+port {
		t.Fatalf("start.sh: %v, %q, %s", err, addr, said)
	}
	t.Cleanup(func() {
		if _, said, err := script("stop.sh", "--delete"); err != nil {
			t.Errorf("stop.sh: %v, %s", err, said)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	})
	if _, said, err := script("start.sh", "--port", port); err == nil || !strings.Contains(said, "runs already") {
		t.Errorf("a second start: %v, %s", err, said)
	}
	return addr
}

// The commands in the first lines of docs/example-tryout.yaml, as they stand there, print counts of
// a real Kafka in about half a minute.
func TestTheTryoutShowsCounts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	switch err := realkafka.Missing(); {
	case err != nil && os.Getenv("TOLLGATE_REQUIRE_KAFKA") == "1":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	body, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "example-tryout.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	addr := kafkaLocal(t)
	t.Chdir(t.TempDir())
	if err := os.Mkdir("docs", 0o700); err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(body), "localhost:9092", addr, 1)
	if err := os.WriteFile("docs/example-tryout.yaml", []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	var script []string
	for line := range strings.Lines(own) {
		if command, ok := strings.CutPrefix(line, "#   "); ok {
			script = append(script, command)
		}
	}
	began := time.Now()
	var stdout, stderr string
	for n := 0; n < len(script); n++ {
		if args, ours := strings.CutPrefix(script[n], "./tollgate "); ours {
			stdout, stderr = mustRun(t, strings.Fields(args)...)
			continue
		}
		command := script[n]
		for strings.Count(command, "'")%2 == 1 {
			n++
			command += script[n]
		}
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	for _, want := range []string{"/cart", "/home", "/search", "as asked"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout does not say %q: %s", want, stdout)
		}
	}
	if took := time.Since(began); took > time.Minute || !strings.Contains(stderr, "first result at ") || strings.Contains(stderr, "late") {
		t.Errorf("after %v: stderr %s", took, stderr)
	}
}
