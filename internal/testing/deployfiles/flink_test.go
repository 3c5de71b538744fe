package deployfiles

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// The program in the image of Flink has that engine: it is built by the image's own line.
func TestTheImageOfFlinkHasItsEngine(t *testing.T) {
	parsed, err := parser.Parse(bytes.NewReader(read(t, "Dockerfile")))
	ok(t, err)
	stages, _, err := instructions.Parse(parsed.AST, nil)
	ok(t, err)
	program, built := filepath.Join(t.TempDir(), "tollgate"), false
	for _, stage := range stages {
		for _, command := range stage.Commands {
			run, is := command.(*instructions.RunCommand)
			if !is || !strings.Contains(strings.Join(run.CmdLine, " "), "go build") {
				continue
			}
			line := strings.Replace(strings.Join(run.CmdLine, " "), "-o /tollgate", "-o "+program, 1)
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir, cmd.Env = "../../..", append(os.Environ(), "GOWORK=off", "VERSION=v1.2.3", "REVISION=abc")
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", line, err, said)
			}
			built = true
		}
	}
	if !built {
		t.Fatal("no line builds the program")
	}
	said, err := exec.Command(program, "version").CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^engines.*\bflink\b`).Match(said) || !bytes.Contains(said, []byte("v1.2.3")) || !bytes.Contains(said, []byte("abc")) {
		t.Errorf("%v: %s", err, said)
	}
}

// megabytes reads a size of Flink, Go or Kubernetes.
func megabytes(t *testing.T, text string) int64 {
	t.Helper()
	number := strings.TrimRight(text, "GMKiBgmb")
	unit := map[string]string{"m": "Mi", "MiB": "Mi", "M": "Mi", "g": "Gi", "G": "Gi"}[strings.TrimPrefix(text, number)]
	size, err := resource.ParseQuantity(number + unit)
	if err != nil || unit == "" {
		t.Fatalf("%q is no size: %v", text, err)
	}
	return size.Value() >> 20
}

// jvmOverhead is what a JVM takes beside what Flink accounts for, in MB: the default of Flink.
const jvmOverhead = 192

// checkWorkers sees that the memory of a TaskManager has room for a worker, a process beside the
// JVM: all that Flink calls the overhead of the JVM, but what the JVM takes of it.
func checkWorkers(t *testing.T, where string, settings map[string]string, whole, soft string) {
	t.Helper()
	least, most := settings["taskmanager.memory.jvm-overhead.min"], settings["taskmanager.memory.jvm-overhead.max"]
	if least == "" || least != most {
		t.Errorf("%s: the part of the workers is between %q and %q", where, least, most)
		return
	}
	if room := megabytes(t, least) - jvmOverhead; soft == "" || megabytes(t, soft)*10 > room*9+10 || megabytes(t, soft) < 1024 {
		t.Errorf("%s: workers have %d MB, and GOMEMLIMIT is %q", where, room, soft)
	}
	// Flink refuses less than it needs: heaps, metaspace (256), network (64), off the heap (128).
	if rest := megabytes(t, whole) - megabytes(t, least); rest < 1024 {
		t.Errorf("%s: the JVM has %d MB", where, rest)
	}
}

// The memory of containers is for the workers as well, and jobs have their slots.
func TestTaskManagersInContainersHaveRoomForJobs(t *testing.T) {
	project, err := compose(dir, read(t, "compose.yaml"))
	ok(t, err)
	of, submit := project.Services["taskmanager"], project.Services["submit"]
	settings := flinkSettings(t, []byte(*of.Environment["FLINK_PROPERTIES"]))
	whole := settings["taskmanager.memory.process.size"]
	soft := ""
	if v := of.Environment["GOMEMLIMIT"]; v != nil {
		soft = *v
	}
	checkWorkers(t, "compose.yaml", settings, whole, soft)
	if of.Deploy == nil || of.Deploy.Resources.Limits == nil || int64(of.Deploy.Resources.Limits.MemoryBytes)>>20 != megabytes(t, whole) {
		t.Errorf("compose.yaml: the limit of a TaskManager is not %s", whole)
	}
	checkSlots(t, "compose.yaml", settings, *of.Deploy.Replicas, submit.Command)

	d := flinkDeployment(t)
	manager := d.Spec.TaskManager
	for _, e := range manager.PodTemplate.Spec.Containers[0].Env {
		if e.Name == "GOMEMLIMIT" {
			soft = e.Value
		}
	}
	checkWorkers(t, "kubernetes/cluster.yaml", d.Spec.FlinkConfiguration, manager.Resource.Memory, soft)
	kinds, parts := documents(t)
	var submitter struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	ok(t, yaml.Unmarshal(parts[slices.Index(kinds, "Deployment")], &submitter))
	checkSlots(t, "kubernetes/cluster.yaml", d.Spec.FlinkConfiguration, manager.Replicas, submitter.Spec.Template.Spec.Containers[0].Args)
}

func checkSlots(t *testing.T, where string, settings map[string]string, managers int, args []string) {
	t.Helper()
	slots, err := strconv.Atoi(settings["taskmanager.numberOfTaskSlots"])
	ok(t, err)
	parallelism, err := strconv.Atoi(args[slices.Index(args, "--parallelism")+1])
	ok(t, err)
	if slots*managers < parallelism {
		t.Errorf("%s: %d TaskManagers of %d slots, and a job of parallelism %d", where, managers, slots, parallelism)
	}
}

// The compose file begins a deployment by itself: keys are in a volume that init alone writes to,
// and no variable has the name of one of the program with another meaning.
func TestTheComposeFileOfFlinkBeginsADeployment(t *testing.T) {
	text := read(t, "compose.yaml")
	project, err := compose(dir, text)
	ok(t, err)
	for name, writes := range map[string]bool{"init": true, "submit": false, "taskmanager": false} {
		kept := map[string]bool{} // directories of a service, and whether it writes to them
		for _, v := range project.Services[name].Volumes {
			kept[v.Target] = !v.ReadOnly
			if v.Target == "/etc/tollgate" && (filepath.Base(v.Source) != "compose" || !v.ReadOnly) {
				t.Errorf("%s has the configuration of %s, read-only: %v", name, v.Source, v.ReadOnly)
			}
		}
		if got, is := kept["/var/lib/tollgate"]; !is || got != writes {
			t.Errorf("%s has the directories %v", name, kept)
		}
	}
	if n := strings.Count(string(file(t, "compose/tollgate.yaml")), "{file: /var/lib/tollgate/"); n != 2 {
		t.Errorf("%d keys of the configuration are in the volume", n)
	}
	if !bytes.Contains(read(t, "Dockerfile"), []byte("RUN install -d -o flink -g flink /var/lib/tollgate\n")) {
		t.Error("a new volume is root's, and the user of the image cannot write keys to it")
	}
	if bytes.Contains(text, []byte("${TOLLGATE_CONFIG:")) {
		t.Error("TOLLGATE_CONFIG is a directory, and for the program a file")
	}
}

// The submitter on Kubernetes has the variables that a configuration there names, and workers have
// all but the record, which the submitter alone looks at.
func TestTheSubmitterHasTheRecordOfItsKeys(t *testing.T) {
	kinds, parts := documents(t)
	var submitter appsv1.Deployment
	ok(t, yaml.Unmarshal(parts[slices.Index(kinds, "Deployment")], &submitter))
	has := func(pod corev1.PodTemplateSpec, name string) bool {
		return slices.ContainsFunc(pod.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == name })
	}
	named := regexp.MustCompile(`(?m)^  (\w+): {env: (\w+)}$`).FindAllStringSubmatch(string(file(t, "kubernetes/overlays/production/tollgate.yaml")), -1)
	if len(named) != 3 {
		t.Errorf("the configuration names %q", named)
	}
	for _, n := range named {
		if !has(submitter.Spec.Template, n[2]) {
			t.Errorf("the submitter has no %s", n[2])
		}
		if got, want := has(flinkDeployment(t).Spec.TaskManager.PodTemplate, n[2]), n[1] != "record"; got != want {
			t.Errorf("workers have %s: %v, want %v", n[2], got, want)
		}
	}
}

// unit reads a unit of systemd: the values of a key of its service, in order.
func unit(t *testing.T, name string) map[string][]string {
	t.Helper()
	section, keys := "", map[string][]string{}
	for line := range strings.Lines(string(read(t, "systemd/"+name))) {
		line = strings.TrimSpace(line)
		switch key, value, is := strings.Cut(line, "="); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = line
		case !is:
			t.Errorf("%s: %q is no setting", name, line)
		case section == "[Service]":
			keys[key] = append(keys[key], value)
		}
	}
	return keys
}

// systemd's own reader has nothing to say of the units, where it is there.
func TestSystemdReadsTheUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not there")
	}
	tree, err := filepath.Abs("../../..")
	ok(t, err)
	verify := func(name, text string) string {
		installed := filepath.Join(t.TempDir(), name)
		ok(t, os.WriteFile(installed, []byte(strings.ReplaceAll(text, "/opt/tollgate", tree)), 0o644))
		said, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", installed).CombinedOutput()
		if err != nil && len(said) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		return string(said)
	}
	for _, name := range []string{"tollgate-jobmanager.service", "tollgate-taskmanager.service"} {
		text := string(read(t, "systemd/"+name))
		if said := verify(name, text); said != "" {
			t.Errorf("%s: %s", name, said)
		}
		if said := verify(name, strings.Replace(text, "KillMode=", "KilMode=", 1)); !strings.Contains(said, "KilMode") {
			t.Errorf("%s: a setting that does not exist passes: %q", name, said)
		}
	}
}

// A unit names a command of the script, fixes slots and ports, ends workers with their TaskManager,
// and has memory for them.
func TestUnitsOfSystemdFixSlotsPortsAndMemory(t *testing.T) {
	for name, want := range map[string][]string{
		"tollgate-jobmanager.service":  {"jobmanager.rpc.address", "jobmanager.bind-host", "jobmanager.rpc.port", "blob.server.port", "rest.port"},
		"tollgate-taskmanager.service": {"jobmanager.rpc.address", "jobmanager.rpc.port", "taskmanager.host", "taskmanager.bind-host", "taskmanager.rpc.port", "taskmanager.data.port", "taskmanager.numberOfTaskSlots"},
	} {
		keys := unit(t, name)
		for key, value := range map[string]string{"Restart": "always", "KillMode": "control-group"} {
			if !slices.Equal(keys[key], []string{value}) {
				t.Errorf("%s: %s is %q, want %s", name, key, keys[key], value)
			}
		}
		if len(keys["ExecStart"]) != 1 {
			t.Fatalf("%s: %d commands", name, len(keys["ExecStart"]))
		}
		words := strings.Fields(keys["ExecStart"][0])
		script, err := os.Stat("../../../" + strings.TrimPrefix(words[0], "/opt/tollgate/"))
		if err != nil || script.Mode()&0o100 == 0 || !strings.Contains(name, words[1]) {
			t.Errorf("%s starts %q: %v", name, words[:2], err)
		}
		set := map[string]string{}
		for i, word := range words {
			if key, value, is := strings.Cut(word, "="); is && words[i-1] == "-D" {
				set[key] = value
			}
		}
		for _, key := range want {
			if set[key] == "" || set[key] == "0" {
				t.Errorf("%s does not set %s", name, key)
			}
		}
		if words[1] != "taskmanager" {
			continue
		}
		// The script gives a TaskManager a heap of 768 MB, and 736 MB of other memory.
		soft := strings.TrimPrefix(keys["Environment"][slices.IndexFunc(keys["Environment"], func(v string) bool { return strings.HasPrefix(v, "GOMEMLIMIT=") })], "GOMEMLIMIT=")
		if room := megabytes(t, keys["MemoryMax"][0]) - 768 - 736; megabytes(t, soft)*10 > room*95/10 {
			t.Errorf("%s: workers have %d MB, and GOMEMLIMIT is %s", name, room, soft)
		}
	}
}
