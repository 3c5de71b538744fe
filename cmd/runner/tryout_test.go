package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

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
	body, err := os.ReadFile(filepath.Join("..", "..", "docs", "example-tryout.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	broker, err := realkafka.Start(t.Context(), realkafka.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Chdir(t.TempDir())
	if err := os.Mkdir("docs", 0o700); err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(body), "localhost:9092", broker.Addr(), 1)
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
		if args, ours := strings.CutPrefix(script[n], "./runner "); ours {
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
	for _, want := range []string{"/cart", "/home", "/search", "met"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout does not say %q: %s", want, stdout)
		}
	}
	if took := time.Since(began); took > time.Minute || !strings.Contains(stderr, "first result at ") || strings.Contains(stderr, "late") {
		t.Errorf("after %v: stderr %s", took, stderr)
	}
}
