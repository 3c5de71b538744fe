package deployfiles

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
)

// tryout returns what deploy/compose/compose.yaml describes.
func tryout(t *testing.T) *types.Project {
	t.Helper()
	project, err := compose(deploy+"compose", file(t, "compose/compose.yaml"))
	ok(t, err)
	return project
}

func TestTheTryoutIsWell(t *testing.T) {
	project := tryout(t)
	if got := project.ServiceNames(); !slices.Equal(got, []string{"grafana", "init", "kafka", "keys", "prometheus", "run", "serve", "visits"}) {
		t.Errorf("services %v", got)
	}
	for name, s := range project.Services {
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes port %s on %q", name, p.Published, p.HostIP)
			}
		}
		if name == "run" || len(s.Ports) == 0 {
			if _, reachable := s.Networks["outside"]; reachable {
				t.Errorf("%s is in a network that others reach", name)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if v.Source == "keys" && !slices.Contains([]string{"init", "keys", "run"}, name) {
				t.Errorf("%s has the keys", name)
			}
		}
		// Another process would not answer either because a broker does not.
		if name == "serve" && !slices.Contains(s.HealthCheck.Test, "http://localhost:8080/-/healthy") {
			t.Errorf("%s is asked for its health by %v", name, s.HealthCheck.Test)
		}
		if len(s.Command) > 0 && strings.Contains(s.Image, "tollgate/tollgate") {
			if s.User != "65532:65532" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
				t.Errorf("%s is not held as tight as the others: %s %v %v %v", name, s.User, s.ReadOnly, s.CapDrop, s.SecurityOpt)
			}
		}
	}
	if _, err := compose(deploy+"compose", bytes.Replace(file(t, "compose/compose.yaml"), []byte("read_only"), []byte("readonly"), 1)); err == nil {
		t.Error("a field that does not exist passes")
	}
}

// The engine's own reader, where it is there.
func TestDockerReadsTheComposeFiles(t *testing.T) {
	if said, err := exec.Command("docker", "compose", "version").CombinedOutput(); err != nil {
		t.Skipf("docker compose is not there: %s", said)
	}
	for _, name := range []string{"compose", "flink"} {
		if said, err := exec.Command("docker", "compose", "-f", deploy+name+"/compose.yaml", "config", "--quiet").CombinedOutput(); err != nil || len(said) != 0 {
			t.Errorf("%s: %v: %s", name, err, said)
		}
	}
}

// The command of a service is one that this program knows, with its flags.
func TestTheTryoutsCommandsAreTheRunners(t *testing.T) {
	program := runner(t)
	config := deploy + "compose/tollgate.yaml"
	if said, err := exec.Command(program, "validate", "--offline", "--config", config).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	for name, s := range tryout(t).Services {
		if !strings.Contains(s.Image, "tollgate/tollgate") {
			continue
		}
		args := append(slices.Clone(s.Command), "--help")
		if said, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %v: %s", name, args, err, said)
		}
	}
}

// The images of others are those whose code reads our files here.
func TestTheTryoutsPrometheusIsTheTestedOne(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	ok(t, err)
	library := regexp.MustCompile(`github.com/prometheus/prometheus v0\.3([0-9]{2})\.([0-9]+)`).FindSubmatch(text)
	if library == nil {
		t.Fatal("go.mod does not name Prometheus")
	}
	minor := strings.TrimLeft(string(library[1]), "0")
	if got, want := tryout(t).Services["prometheus"].Image, "prom/prometheus:v3."+minor+"."+string(library[2]); got != want {
		t.Errorf("the image is %s, and the library that of %s", got, want)
	}
}

// What the made-up visits are is what the deployment reads, in Docker and on Kubernetes.
func TestMadeUpVisitsAreEvents(t *testing.T) {
	script := strings.Join(tryout(t).Services["visits"].Command, "")
	script = strings.ReplaceAll(script, "$$", "$") // as the engine does
	if on := overlay(t, "tryout").pods["visits"].spec.Containers[0].Args; len(on) != 1 || on[0] != script {
		t.Errorf("on Kubernetes it is\n%s\nin Docker\n%s", on, script)
	}
	loop, producer, _ := strings.Cut(script, "done |")
	once := strings.Replace(loop, "while sleep 1; do", "", 1)
	if !strings.Contains(producer, "--topic tryout-visits") || once == loop {
		t.Fatalf("%s", script)
	}
	said, err := exec.Command("bash", "-c", once).Output()
	ok(t, err)
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	users := map[string]bool{}
	for _, line := range lines {
		var visit struct {
			Who, Page string
			At        int64
		}
		ok(t, json.Unmarshal(line, &visit))
		users[visit.Who] = true
		if age := time.Since(time.UnixMilli(visit.At)); age < 0 || age > time.Minute || !slices.Contains([]string{"/cart", "/home", "/search"}, visit.Page) {
			t.Errorf("%s", line)
		}
	}
	if len(lines) != 300 || len(users) != 300 {
		t.Errorf("%d visits of %d users", len(lines), len(users))
	}
}
