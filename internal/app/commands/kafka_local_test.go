package commands

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// ports counts the ports that freePort has tried.
var ports atomic.Int32

// freePort returns a port that is free, with room above it. It lies below the range from which the
// system assigns ports.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		at := strconv.Itoa(20_000 + (os.Getpid()+10*int(ports.Add(1)))%12_000)
		l, err := net.Listen("tcp", "127.0.0.1:"+at)
		if err == nil {
			l.Close() //nolint:errcheck // of a test
			return at
		}
	}
}

// end kills the nodes of a cluster of start.sh, and has it forget them: their parent may not have
// noticed yet.
func end(t *testing.T, cluster string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cluster, "*", "pid"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the nodes of %s: %q, %v", cluster, files, err)
	}
	for _, file := range files {
		pid, err := os.ReadFile(file)
		if err == nil {
			err = exec.Command("kill", "-9", strings.TrimSpace(string(pid))).Run()
		}
		if err == nil {
			err = os.Remove(file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Every cluster of start.sh has an id of its own, by which deployments are told apart, and all of
// its nodes have the same one, those that come later, too.
func TestStartScriptGivesEveryClusterAnId(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "kafka-local", "start.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil { //nolint:gosec // of a test
		t.Fatal(err)
	}
	for name, text := range map[string]string{"start.sh": string(script), "fetch.sh": "#!/bin/sh\necho jars\n", "bin/java": `#!/bin/sh
case $* in
  -version) echo 'openjdk version "21.0.1"' >&2 ;;
  *StorageTool*) mkdir -p "${8%/*}/data" && echo "cluster.id=$6" >"${8%/*}/data/meta.properties" ;;
  *kafka.Kafka*) echo 'Kafka Server started'; exec sleep 300 ;;
esac
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil { //nolint:gosec // scripts
			t.Fatal(err)
		}
	}
	start := func(cluster, nodes string) {
		for {
			cmd := exec.Command(filepath.Join(dir, "start.sh"), "--dir", filepath.Join(dir, cluster), "--nodes", nodes, "--port", freePort(t))
			cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if err == nil {
				end(t, filepath.Join(dir, cluster))
				return
			}
			if !strings.Contains(string(out), "is taken") { // of the ports beside the free one
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	id := func(node string) string {
		text, err := os.ReadFile(filepath.Join(dir, node, "data", "meta.properties"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	start("a", "1")
	start("a", "2")
	start("b", "1")
	if !regexp.MustCompile(`^cluster\.id=[A-Za-z0-9]{22}$`).MatchString(id("a/1")) || id("a/1") != id("a/2") || id("a/1") == id("b/1") {
		t.Errorf("ids %s and %s of one cluster, %s of another", id("a/1"), id("a/2"), id("b/1"))
	}
}
