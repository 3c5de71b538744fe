package deployfiles

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	deploy = "../../../deploy/"
	dir    = deploy + "flink"
	// The operator whose schema is asked. Newer ones accept what it accepts.
	operator = "org.apache.flink:flink-kubernetes-operator-api:1.10.0"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	return file(t, "flink/"+name)
}

// file returns a file of deploy.
func file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(deploy + name)
	ok(t, err)
	return data
}

func TestTheDockerfilesAreWell(t *testing.T) {
	for name, want := range map[string]int{"flink": 3, "image": 1} {
		problems, stages, err := lint(file(t, name+"/Dockerfile"))
		if err != nil || len(problems) != 0 || stages != want {
			t.Errorf("%s: %d stages, %v, %v", name, stages, problems, err)
		}
	}
	if problems, _, err := lint([]byte("from x\nRUN cd /\nMAINTAINER you\n")); err != nil || len(problems) == 0 {
		t.Errorf("a file with a mistake passes: %v, %v", problems, err)
	}
	if _, _, err := lint([]byte("FROM x\nCOPPY a b\n")); err == nil {
		t.Error("an instruction that does not exist passes")
	}
}

func lint(text []byte) (problems []string, stages int, err error) {
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, 0, err
	}
	l := linter.New(&linter.Config{Warn: func(rule, _, _, message string, _ []parser.Range) {
		problems = append(problems, rule+": "+message)
	}})
	found, _, err := instructions.Parse(parsed.AST, l)
	return problems, len(found), err
}

func TestVersionsOfTheImageAreTheScripts(t *testing.T) {
	version := func(name, pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindSubmatch(read(t, name))
		if found == nil {
			t.Fatalf("%s does not hold %s", name, pattern)
		}
		return string(found[1])
	}
	script := version("versions", `FLINK_VERSION:-([0-9.]+)`)
	series := "v" + strings.ReplaceAll(script[:strings.LastIndex(script, ".")], ".", "_")
	if image, operator := version("Dockerfile", `FLINK_VERSION=([0-9.]+)`), version("kubernetes/cluster.yaml", `flinkVersion: (\S+)`); image != script || operator != series {
		t.Errorf("Flink is %s in versions, %s in the Dockerfile, %s for the operator", script, image, operator)
	}
}

// compose loads the text of a compose file of a directory as docker compose does.
func compose(dir string, text []byte) (*types.Project, error) {
	return loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir:  dir,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml"), Content: text}},
		Environment: types.Mapping{},
	}, func(o *loader.Options) { o.SetProjectName("tollgate", true); o.Profiles = []string{"*"} })
}

func TestTheComposeFileIsWell(t *testing.T) {
	text := read(t, "compose.yaml")
	project, err := compose(dir, text)
	ok(t, err)
	if got := project.ServiceNames(); !slices.Equal(got, []string{"init", "jobmanager", "kafka", "submit", "taskmanager"}) {
		t.Errorf("services %v", got)
	}
	for name, s := range project.Services {
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes port %s on %q: REST must stay on this machine", name, p.Published, p.HostIP)
			}
		}
		if want := "always"; strings.HasSuffix(name, "manager") && s.Restart != want {
			t.Errorf("%s is restarted %q, want %q", name, s.Restart, want)
		}
	}
	if _, err := compose(dir, bytes.Replace(text, []byte("stop_grace_period"), []byte("stop_grace"), 1)); err == nil {
		t.Error("a field that does not exist passes")
	}
}

// documents returns the parts of cluster.yaml as JSON, with their kinds.
func documents(t *testing.T) (kinds []string, parts [][]byte) {
	t.Helper()
	r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(read(t, "kubernetes/cluster.yaml"))))
	for {
		part, err := r.Read()
		if errors.Is(err, io.EOF) {
			return kinds, parts
		}
		ok(t, err)
		data, err := yaml.YAMLToJSONStrict(part)
		ok(t, err)
		var head struct{ Kind string }
		ok(t, yaml.Unmarshal(data, &head))
		kinds, parts = append(kinds, head.Kind), append(parts, data)
	}
}

func TestWhatIsForKubernetesIsWell(t *testing.T) {
	known := map[string]func() any{
		"Deployment":            func() any { return new(appsv1.Deployment) },
		"NetworkPolicy":         func() any { return new(networkingv1.NetworkPolicy) },
		"PersistentVolumeClaim": func() any { return new(corev1.PersistentVolumeClaim) },
		"PodDisruptionBudget":   func() any { return new(policyv1.PodDisruptionBudget) },
	}
	kinds, parts := documents(t)
	seen := map[string]bool{}
	for i, kind := range kinds {
		seen[kind] = true
		if kind == "FlinkDeployment" {
			continue // the test after this one
		}
		make, is := known[kind]
		if !is {
			t.Errorf("no check of a %s is known", kind)
			continue
		}
		if err := yaml.UnmarshalStrict(parts[i], make()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if len(seen) != len(known)+1 {
		t.Errorf("kinds %v, want each of %v and a FlinkDeployment", kinds, slices.Sorted(maps.Keys(known)))
	}
	if yaml.UnmarshalStrict([]byte("spec: {replica: 2}"), new(appsv1.Deployment)) == nil {
		t.Error("a field that does not exist passes")
	}
}

func inJar(t *testing.T, jar, name string) []byte {
	t.Helper()
	r, err := zip.OpenReader(jar)
	ok(t, err)
	defer func() { _ = r.Close() }()
	file, err := r.Open(name)
	ok(t, err)
	data, err := io.ReadAll(file)
	ok(t, err)
	return data
}

// schema returns the operator's schema of a FlinkDeployment. It skips where it cannot be had,
// unless all of it is demanded.
func schema(t *testing.T) *apiextensions.JSONSchemaProps {
	t.Helper()
	to := t.TempDir()
	name := strings.Join(strings.Split(operator, ":")[1:], "-") + ".jar"
	cmd := exec.Command("mvn", "-q", "-B", "dependency:copy", "-Dartifact="+operator, "-DoutputDirectory="+to)
	cmd.Dir = to // no pom.xml is there
	if said, err := cmd.CombinedOutput(); err != nil {
		if os.Getenv("TOLLGATE_REQUIRE_FLINK") == "1" {
			t.Fatalf("%v: %s", err, said)
		}
		t.Skipf("mvn, which brings the operator's schema, cannot be run here: %v: %s", err, said)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	ok(t, yaml.Unmarshal(inJar(t, filepath.Join(to, name), "META-INF/fabric8/flinkdeployments.flink.apache.org-v1.yml"), &crd))
	var internal apiextensions.CustomResourceDefinition
	ok(t, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&crd, &internal, nil))
	if internal.Spec.Validation != nil {
		return internal.Spec.Validation.OpenAPIV3Schema
	}
	return internal.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// wrong lists what a schema does not know, and what is of another type than it says.
func wrong(t *testing.T, s *apiextensions.JSONSchemaProps, data []byte) []string {
	t.Helper()
	var object map[string]any
	ok(t, yaml.Unmarshal(data, &object))
	validator, _, err := validation.NewSchemaValidator(s)
	ok(t, err)
	var found []string
	for _, e := range validation.ValidateCustomResource(field.NewPath("FlinkDeployment"), object, validator) {
		found = append(found, e.Error())
	}
	structural, err := structuralschema.NewStructural(s)
	ok(t, err)
	return append(found, pruning.PruneWithOptions(object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
}

func TestTheFlinkDeploymentFollowsTheOperatorsSchema(t *testing.T) {
	s := schema(t)
	kinds, parts := documents(t)
	data := parts[slices.Index(kinds, "FlinkDeployment")]
	if found := wrong(t, s, data); len(found) != 0 {
		t.Error(strings.Join(found, "\n"))
	}
	for _, mistake := range []string{`"mode":"standalon"`, `"mod":"standalone"`, `"mode":7`} {
		if found := wrong(t, s, bytes.Replace(data, []byte(`"mode":"standalone"`), []byte(mistake), 1)); len(found) == 0 {
			t.Errorf("%s passes", mistake)
		}
	}
}

// flinkSettings reads a file of settings of Flink.
func flinkSettings(t *testing.T, data []byte) map[string]string {
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

// deploymentOfFlink is a FlinkDeployment, as far as its numbers are compared.
type deploymentOfFlink struct {
	Spec struct {
		FlinkConfiguration map[string]string
		TaskManager        struct {
			Replicas    int
			Resource    struct{ Memory string }
			PodTemplate corev1.PodTemplateSpec
		}
	}
}

func flinkDeployment(t *testing.T) (d deploymentOfFlink) {
	t.Helper()
	kinds, parts := documents(t)
	ok(t, yaml.Unmarshal(parts[slices.Index(kinds, "FlinkDeployment")], &d))
	return d
}

// What is set in conf/config.yaml is set the same everywhere, but addresses.
func TestSettingsAreTheSameEverywhere(t *testing.T) {
	want := flinkSettings(t, read(t, "conf/config.yaml"))
	project, err := compose(dir, read(t, "compose.yaml"))
	ok(t, err)
	for where, got := range map[string]map[string]string{
		"compose.yaml":            flinkSettings(t, []byte(*project.Services["taskmanager"].Environment["FLINK_PROPERTIES"])),
		"kubernetes/cluster.yaml": flinkDeployment(t).Spec.FlinkConfiguration,
	} {
		compared := 0
		for name, value := range want {
			if strings.HasSuffix(name, "address") || strings.HasSuffix(name, "host") {
				continue
			}
			compared++
			if got[name] != value {
				t.Errorf("%s: %s is %q, and %q in conf/config.yaml", where, name, got[name], value)
			}
		}
		if compared < 10 {
			t.Errorf("only %d settings were compared", compared)
		}
	}
}
