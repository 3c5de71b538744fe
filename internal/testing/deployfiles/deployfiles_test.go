package deployfiles

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

const deploy = "../../../deploy/"

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// file returns a file of deploy.
func file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(deploy + name)
	ok(t, err)
	return data
}

// output runs a command in the root of the tree and returns its output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "VERSION=v1.2.3", "REVISION=abc")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, text)
	}
	return string(text)
}

var buildDir string

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(buildDir) // a temporary directory
	os.Exit(code)
}

var buildOnce sync.Once

// runner returns the path of the program, built once.
func runner(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() {
		var err error
		buildDir, err = os.MkdirTemp("", "tollgate-deployfiles-")
		ok(t, err)
		output(t, "go", "build", "-o", buildDir+string(filepath.Separator), "./cmd/runner")
	})
	return filepath.Join(buildDir, "runner")
}

// checkArgs checks that the program accepts a command and its flags.
func checkArgs(t *testing.T, args []string) {
	t.Helper()
	output(t, runner(t), append(slices.Clone(args), "--help")...)
}

type service struct {
	Image, User string
	Command     any // a list of words, or a line of a shell
	Ports       []string
	ReadOnly    bool     `json:"read_only"`
	CapDrop     []string `json:"cap_drop"`
	Environment any      // a map, or a list of settings
}

// services returns the services of a compose file.
func services(t *testing.T, name string) map[string]service {
	t.Helper()
	var project struct{ Services map[string]service }
	ok(t, yaml.Unmarshal(file(t, name), &project))
	return project.Services
}

func TestComposeServicesRunThisProgramAndStayOnThisMachine(t *testing.T) {
	output(t, runner(t), "validate", "--offline", "--config", "deploy/compose/tollgate.yaml")
	for _, compose := range []string{"compose/compose.yaml", "flink/compose.yaml"} {
		checked := 0
		for name, s := range services(t, compose) {
			for _, port := range s.Ports {
				if !strings.HasPrefix(port, "127.0.0.1:") {
					t.Errorf("%s: %s publishes port %s on other machines' networks", compose, name, port)
				}
			}
			words, _ := s.Command.([]any)
			if len(words) == 0 || !strings.Contains(s.Image, "tollgate/tollgate") {
				continue
			}
			checked++
			checkArgs(t, strings.Fields(strings.Trim(fmt.Sprint(words), "[]")))
			if s.User != "65532:65532" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) {
				t.Errorf("%s: %s may do more than it needs: %+v", compose, name, s)
			}
		}
		if compose == "compose/compose.yaml" && checked < 3 {
			t.Errorf("only %d services of %s were checked", checked, compose)
		}
	}
}

// settings decodes a file of Flink's settings.
func settings(t *testing.T, data []byte) map[string]string {
	t.Helper()
	var values map[string]any
	ok(t, yaml.Unmarshal(data, &values))
	texts := map[string]string{}
	for name, v := range values {
		text, err := yaml.Marshal(v)
		ok(t, err)
		texts[name] = strings.Trim(strings.TrimSpace(string(text)), `"'`)
	}
	return texts
}

func TestSettingsOfFlinkAreTheSameEverywhere(t *testing.T) {
	var cluster struct {
		Spec struct{ FlinkConfiguration map[string]string }
	}
	first, _, _ := bytes.Cut(file(t, "flink/kubernetes/cluster.yaml"), []byte("\n---"))
	ok(t, yaml.Unmarshal(first, &cluster))
	environment := services(t, "flink/compose.yaml")["taskmanager"].Environment.(map[string]any)
	for where, got := range map[string]map[string]string{
		"compose.yaml":            settings(t, []byte(environment["FLINK_PROPERTIES"].(string))),
		"kubernetes/cluster.yaml": cluster.Spec.FlinkConfiguration,
	} {
		for name, value := range settings(t, file(t, "flink/conf/config.yaml")) {
			if !strings.HasSuffix(name, "address") && !strings.HasSuffix(name, "host") && got[name] != value {
				t.Errorf("%s: %s is %q, and %q in conf/config.yaml", where, name, got[name], value)
			}
		}
	}
}

// tool runs a tool of this module and returns its output.
func tool(t *testing.T, args ...string) string {
	t.Helper()
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool"}, args...)...)
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("go tool %q: %v: %s", args, err, errs.String())
	}
	return string(text)
}
