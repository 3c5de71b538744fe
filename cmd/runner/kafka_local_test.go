package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
)

// start.sh answers when its broker has started, and not by the log of the start before. The broker
// is made up, and begins to log only when it is told to.
func TestStartScriptWaitsForItsOwnBroker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // of a test
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil { //nolint:gosec // scripts
			t.Fatal(err)
		}
		return file
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "deploy", "kafka-local", "start.sh"))
	if err != nil {
		t.Fatal(err)
	}
	start := put("start.sh", string(script))
	put("fetch.sh", "#!/bin/sh\necho jars\n")
	put("bin/java", `#!/bin/sh
case $* in
  -version) echo 'openjdk version "21.0.1"' >&2 ;;
  *kafka.Kafka*) echo '[KafkaRaftServer nodeId=1] Kafka Server started'; exec sleep 1000 ;;
esac
`)
	// start.sh sleeps between two looks at the log.
	put("bin/sleep", "#!/bin/sh\n: >"+filepath.Join(dir, "looked")+"\nexec /bin/sleep \"$@\"\n")
	kafka := filepath.Join(dir, "kafka")
	put("kafka/1/log", "Kafka Server started\n")
	put("kafka/1/data/meta.properties", "")

	var out, errs strings.Builder
	port := freePort(t)
	cmd := exec.Command(start, "--dir", kafka, "--port", port)
	cmd.WaitDelay = time.Second // a broker that has not begun holds on to the output
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"),
		// The process of the broker is slow to begin: it enters its directory when it may.
		`BASH_FUNC_cd%%=() { while [[ $1 == `+kafka+`/1 && ! -e `+filepath.Join(dir, "may")+` ]]; do /bin/sleep 0.05; done; builtin cd "$@"; }`)
	t.Cleanup(func() {
		put("may", "")
		pid, err := os.ReadFile(filepath.Join(kafka, "1", "pid"))
		if err == nil {
			err = exec.Command("kill", strings.TrimSpace(string(pid))).Run()
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	await.That(t, time.Minute, "the script looks at the log once and waits", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the script ended before its broker began: %v, %s, %s", err, out.String(), errs.String())
		default:
		}
		_, err := os.Stat(filepath.Join(dir, "looked"))
		return err == nil
	})
	put("may", "")
	if err := <-ended; err != nil && !errors.Is(err, exec.ErrWaitDelay) || strings.TrimSpace(out.String()) != "localhost:"+port {
		t.Errorf("%v, %s, %s", err, out.String(), errs.String())
	}
}

// freePort returns a port that is free, with room above it.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close() //nolint:errcheck // of a test
		if at := l.Addr().(*net.TCPAddr).Port; at < 60_000 {
			return strconv.Itoa(at)
		}
	}
}
