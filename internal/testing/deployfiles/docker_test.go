package deployfiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// patience is how long a container may take to do what a test waits for: this machine may be busy.
const patience = 5 * time.Minute

// docker runs a command of the engine and returns what it prints.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "docker", args...)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0") // engines without the plugin build as well
	var errors strings.Builder
	cmd.Stderr = &errors
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("docker %s: %v: %s%s", strings.Join(args, " "), err, said, errors.String())
	}
	return strings.TrimSpace(string(said))
}

// needsDocker skips a test where no engine answers.
func needsDocker(t *testing.T) {
	t.Helper()
	if said, err := exec.CommandContext(t.Context(), "docker", "version").CombinedOutput(); err != nil {
		t.Skipf("no Docker engine answers: %s", said)
	}
}

// removed has a container or an image removed at the end of the test.
func removed(t *testing.T, args ...string) {
	t.Helper()
	t.Cleanup(func() {
		if said, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", args, err, said)
		}
	})
}

// builtImage builds an image by its own lines, with labels.
func builtImage(t *testing.T, dockerfile, context string) string {
	t.Helper()
	tag := fmt.Sprintf("tollgate/test:%d-%d", os.Getpid(), time.Now().UnixNano())
	docker(t, "build", "--network", "host", "--build-arg", "VERSION=v1.2.3", "--build-arg", "REVISION=abc", "-t", tag, "-f", deploy+dockerfile, context)
	removed(t, "image", "rm", "--force", tag)
	var labels map[string]string
	ok(t, json.Unmarshal([]byte(docker(t, "image", "inspect", "--format", "{{json .Config.Labels}}", tag)), &labels))
	if labels["org.opencontainers.image.version"] != "v1.2.3" || labels["org.opencontainers.image.revision"] != "abc" {
		t.Errorf("%s: labels %v", dockerfile, labels)
	}
	return tag
}

// image builds the image of the program.
func image(t *testing.T) string {
	t.Helper()
	needsDocker(t)
	context := t.TempDir()
	program, err := os.ReadFile(runner(t))
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(context, "tollgate"), program, 0o755))
	return builtImage(t, "image/Dockerfile", context)
}

// An engine builds the image, and a whole pipeline runs in it: not as root, on a root that is read
// only, without a network.
func TestTheImageRunsAJob(t *testing.T) {
	tag := image(t)
	said := docker(t, "run", "--rm", "--read-only", "--cap-drop", "ALL", "--network", "none", tag, "demo", "--events", "20000", "--windows", "3")
	if !strings.Contains(said, "3 windows, ") || !strings.Contains(said, "values released") {
		t.Errorf("%s", said)
	}
}

// A run that waits for a broker is healthy: a new process would wait for the same broker.
func TestAContainerIsHealthyWithoutABroker(t *testing.T) {
	tag := image(t)
	config := filepath.Join(t.TempDir(), "tollgate.yaml")
	text := strings.NewReplacer("kafka:9092", "127.0.0.1:1").Replace(string(file(t, "kubernetes/overlays/tryout/tollgate.yaml")))
	ok(t, os.WriteFile(config, []byte(text), 0o644))
	name := docker(t, "create", "--network", "none", "--env", "TOLLGATE_NOISE_KEY="+strings.Repeat("1", 64), "--env", "TOLLGATE_USER_HASH_KEY="+strings.Repeat("2", 64),
		tag, "run", "--config", "/tollgate.yaml", "--listen", "0.0.0.0:9464", "--wait-for-broker", "1d")
	removed(t, "rm", "--force", name)
	docker(t, "cp", config, name+":/tollgate.yaml")
	docker(t, "start", name)
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		state := docker(t, "inspect", "--format", "{{.State.Status}} {{.State.Health.Status}}", name)
		if state == "running healthy" {
			break
		}
		if !strings.HasPrefix(state, "running") || strings.HasSuffix(state, "unhealthy") || time.Since(began) > patience {
			logs, _ := exec.Command("docker", "logs", name).CombinedOutput()
			t.Fatalf("the container is %s: %s", state, logs)
		}
	}
}

// needsBases skips a test where an image that the one of Flink is made from is neither there nor to
// be had.
func needsBases(t *testing.T) {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(read(t, "Dockerfile")))
	ok(t, err)
	stages, arguments, err := instructions.Parse(parsed.AST, nil)
	ok(t, err)
	for _, stage := range stages {
		base := stage.BaseName
		for _, a := range arguments[0].Args {
			base = strings.ReplaceAll(base, "${"+a.Key+"}", *a.Value)
		}
		if exec.CommandContext(t.Context(), "docker", "image", "inspect", base).Run() == nil {
			continue
		}
		if said, err := exec.CommandContext(t.Context(), "docker", "pull", "-q", base).CombinedOutput(); err != nil {
			t.Skipf("image %s is not there and cannot be pulled: %s", base, said)
		}
	}
}

// An engine builds the image of Flink, and a job runs in it, with the settings and the memory of
// the compose file: a JobManager, a TaskManager with its worker, and the submitter.
func TestTheImageOfFlinkRunsAJob(t *testing.T) {
	needsDocker(t)
	needsBases(t)
	project, err := compose(dir, read(t, "compose.yaml"))
	ok(t, err)
	manager := project.Services["taskmanager"]
	rest, rpc := freeAddr(t), freeAddr(t)
	_, restPort, err := net.SplitHostPort(rest)
	ok(t, err)
	_, rpcPort, err := net.SplitHostPort(rpc)
	ok(t, err)
	settings := regexp.MustCompile(`(?m)(address|bind-host): .*$`).ReplaceAllString(*manager.Environment["FLINK_PROPERTIES"], "$1: 127.0.0.1") +
		fmt.Sprintf("taskmanager.host: 127.0.0.1\nrest.port: %s\nrest.bind-port: %s\njobmanager.rpc.port: %s\n", restPort, restPort, rpcPort)
	tag := builtImage(t, "flink/Dockerfile", "../../..")
	files := jobFiles(t)
	create := func(args ...string) string {
		name := docker(t, append([]string{"create", "--network", "host", "--env", "FLINK_PROPERTIES=" + settings, "--env", "GOMEMLIMIT=" + *manager.Environment["GOMEMLIMIT"]}, args...)...)
		removed(t, "rm", "--force", name)
		docker(t, "cp", files, name+":/tmp/tollgate")
		return name
	}
	leader := create(tag, "jobmanager")
	docker(t, "start", leader)
	worker := create("--memory", fmt.Sprint(int64(manager.Deploy.Resources.Limits.MemoryBytes)), tag, "taskmanager")
	docker(t, "start", worker)
	logs := func() string {
		first, _ := exec.Command("docker", "logs", "--tail", "40", leader).CombinedOutput()
		second, _ := exec.Command("docker", "logs", "--tail", "40", worker).CombinedOutput()
		return fmt.Sprintf("the JobManager:\n%s\nthe TaskManager:\n%s", first, second)
	}
	for began := time.Now(); !hasSlots(t, rest, 2); time.Sleep(200 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("there are no slots: %s", logs())
		}
	}
	submit := create("--entrypoint", "tollgate", tag, "run", "--config", "/tmp/tollgate/tollgate.yaml", "--engine", "flink", "--flink", "http://"+rest, "--parallelism", "2", "--format", "json", "--until-end")
	said, err := exec.CommandContext(t.Context(), "docker", "start", "--attach", submit).CombinedOutput()
	if err != nil || bytes.Count(said, []byte(`"metric":"views"`)) < 3 {
		t.Errorf("%v: %s\n%s", err, said, logs())
	}
}

// hasSlots says whether a JobManager has so many slots.
func hasSlots(t *testing.T, rest string, want int) bool {
	t.Helper()
	answer, err := http.Get("http://" + rest + "/overview") //nolint:noctx // a test's own cluster
	if err != nil {
		return false
	}
	defer answer.Body.Close() //nolint:errcheck // of a test
	var overview struct {
		Slots int `json:"slots-total"`
	}
	return json.NewDecoder(answer.Body).Decode(&overview) == nil && overview.Slots == want
}

// jobFiles begins a deployment on a broker of its own, and returns the directory of its files,
// which containers have as /tmp/tollgate.
func jobFiles(t *testing.T) string {
	t.Helper()
	program, to := runner(t), t.TempDir()
	kafka := start(t, filepath.Join(filepath.Dir(program), "brokerprocess"))
	config := filepath.Join(to, "tollgate.yaml")
	text := strings.NewReplacer("kafka:9092", kafka, "trust: broker", "trust: producer", "slack: 1s, ", "", "/var/lib/tollgate/", "").Replace(string(file(t, "compose/tollgate.yaml")))
	ok(t, os.WriteFile(config, []byte(text), 0o644))
	now := time.Now()
	events := filepath.Join(to, "visits.jsonl")
	ok(t, os.WriteFile(events, visits(now), 0o644))
	for _, args := range [][]string{
		{"init", "--generate-keys", "--create-topics", "--event-partitions", "2", "--start", now.Add(-3 * time.Minute).UTC().Format(time.RFC3339)},
		{"replay", "--input", events},
	} {
		if said, err := exec.Command(program, append(args, "--config", config)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, said)
		}
	}
	// The user of the image reads them, but not the record beside them: only the submitter needs
	// it, which is root here.
	keys, err := filepath.Glob(filepath.Join(to, "*.key"))
	ok(t, err)
	for _, name := range keys {
		ok(t, os.Chmod(name, 0o644)) // made-up events
	}
	return to
}
