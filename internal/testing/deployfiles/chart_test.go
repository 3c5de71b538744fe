package deployfiles

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// chart renders the chart as `helm template tollgate` does, and decodes what it gives strictly.
func chart(t *testing.T, values string) (cluster, error) {
	t.Helper()
	c := cluster{objects: map[string]any{}, pods: map[string]pod{}}
	loaded, err := loader.Load(deploy + "helm/tollgate")
	ok(t, err)
	ok(t, loaded.Validate())
	own, err := chartutil.ReadValues([]byte(values))
	ok(t, err)
	all, err := chartutil.ToRenderValues(loaded, own, chartutil.ReleaseOptions{Name: "tollgate", Namespace: "tollgate", IsInstall: true}, chartutil.DefaultCapabilities)
	ok(t, err)
	rendered, err := engine.Engine{Strict: true}.Render(loaded, all)
	if err != nil {
		return c, err
	}
	for name, text := range rendered {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, part := range releaseutil.SplitManifests(text) {
			var head struct {
				Kind     string
				Metadata struct{ Name string }
			}
			ok(t, yaml.Unmarshal([]byte(part), &head))
			c.add(t, head.Kind, head.Metadata.Name, []byte(part))
		}
	}
	return c, nil
}

// chartValues are those of a deployment: the configuration of an overlay, with what the values can
// change.
func chartValues(t *testing.T) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"config":     string(file(t, "kubernetes/overlays/production/tollgate.yaml")),
		"run":        map[string]any{"args": []string{"--strict"}, "secrets": []string{"tollgate-kafka"}, "memoryMiB": 4096},
		"serve":      map[string]any{"secrets": []string{"tollgate-kafka-serve"}, "env": []map[string]string{{"name": "TOLLGATE__KAFKA__SASL__USER", "value": "tollgate-serve"}}},
		"podMonitor": map[string]any{"enabled": true}, "extraConfigMap": map[string]any{"name": "tollgate-ca"},
		"network": map[string]any{"to": []map[string]any{{"ipBlock": map[string]string{"cidr": "192.0.2.0/24"}}}},
	})
	ok(t, err)
	return string(text)
}

// The chart gives what the overlays give.
func TestTheChartIsWell(t *testing.T) {
	c, err := chart(t, chartValues(t))
	ok(t, err)
	c.check(t)
	want, monitored := overlay(t, "production"), 0
	for name := range want.objects {
		kind, _, _ := strings.Cut(name, "/")
		if kind != "ConfigMap" && kind != "Ingress" && c.objects[name] == nil {
			t.Errorf("the chart has no %s", name)
		}
	}
	for name, object := range c.objects {
		if m, is := object.(*monitoringv1.PodMonitor); is {
			monitored++
			checkMonitor(t, name, m, c)
		}
	}
	if monitored != 1 {
		t.Errorf("%d PodMonitors", monitored)
	}
	for name := range maps.Keys(want.pods) {
		got, is := c.pods[name].spec.Containers[0].Args, want.pods[name].spec.Containers[0].Args
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(is))) {
			t.Errorf("%s has the arguments %q, and %q in the overlay", name, got, is)
		}
	}
}

// The chart has the job that begins a deployment where it is asked for, as an overlay has it.
func TestTheChartBeginsADeploymentWhenAsked(t *testing.T) {
	values := chartValues(t)
	c, err := chart(t, values)
	ok(t, err)
	c.checkBeginning(t, false)
	c, err = chart(t, values+"init: {enabled: true, args: [--replication, \"3\", --strict, --begin-first-promise]}\n")
	ok(t, err)
	c.checkReferences(t)
	c.checkBeginning(t, true)
	job := c.pods["tollgate-init"]
	checkPod(t, "tollgate-init", job.spec)
	want := overlay(t, "production-init").pods["tollgate-init"].spec.Containers[0].Args
	if got := job.spec.Containers[0].Args; !slices.Equal(got, want) {
		t.Errorf("the job has the arguments %q, and %q in the overlay", got, want)
	}
}

func TestTheChartAsksForAConfiguration(t *testing.T) {
	if _, err := chart(t, ""); err == nil || !strings.Contains(err.Error(), "--set-file config=tollgate.yaml") {
		t.Errorf("%v", err)
	}
}

// The component that an overlay can take adds a PodMonitor, and nothing else.
func TestTheComponentMonitorsThePods(t *testing.T) {
	dir := t.TempDir()
	relative := func(path string) string {
		path, err := filepath.Abs(deploy + path)
		ok(t, err)
		path, err = filepath.Rel(dir, path)
		ok(t, err)
		return path
	}
	ok(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("namespace: tollgate\nresources: ["+relative("kubernetes/overlays/production")+
		"]\ncomponents: ["+relative("kubernetes/components/podmonitor")+"]\n"), 0o600))
	c := kustomized(t, dir)
	if m, is := c.objects["PodMonitor/tollgate"].(*monitoringv1.PodMonitor); is {
		checkMonitor(t, "the component", m, c)
	} else {
		t.Error("there is no PodMonitor")
	}
	if with, without := len(c.objects), len(overlay(t, "production").objects); with != without+1 {
		t.Errorf("%d objects, and %d without the component", with, without)
	}
}

// checkMonitor sees that a PodMonitor takes the pods of the run and of the page, at a port that
// they have, under the names of jobs that the alerts have.
func checkMonitor(t *testing.T, who string, m *monitoringv1.PodMonitor, c cluster) {
	t.Helper()
	scraped := 0
	for name, p := range c.pods {
		if !selects(t, &metav1.LabelSelector{MatchLabels: m.Spec.Selector.MatchLabels, MatchExpressions: m.Spec.Selector.MatchExpressions}, p.labels) {
			continue
		}
		for _, endpoint := range m.Spec.PodMetricsEndpoints {
			if !slices.ContainsFunc(p.spec.Containers[0].Ports, func(port corev1.ContainerPort) bool { return port.Name == *endpoint.Port }) {
				continue
			}
			scraped++
			b := labels.NewBuilder(labels.FromMap(map[string]string{
				"__meta_kubernetes_pod_label_app_kubernetes_io_component": p.labels["app.kubernetes.io/component"], "__meta_kubernetes_pod_name": name + "-0",
			}))
			for _, r := range endpoint.RelabelConfigs {
				rule := relabel.DefaultRelabelConfig
				rule.TargetLabel, rule.NameValidationScheme = r.TargetLabel, model.UTF8Validation
				if r.Replacement != nil {
					rule.Replacement = *r.Replacement
				}
				for _, label := range r.SourceLabels {
					rule.SourceLabels = append(rule.SourceLabels, model.LabelName(label))
				}
				relabel.ProcessBuilder(b, &rule)
			}
			if got := b.Labels(); got.Get("job") != name || got.Get("instance") != name+"-0" {
				t.Errorf("%s: %s is scraped as %v", who, name, got)
			}
		}
	}
	if scraped != 2 {
		t.Errorf("%s: %d pods are scraped, want those of the run and of the page", who, scraped)
	}
}

// The program takes the arguments of the chart's pods.
func TestTheChartIsForThisProgram(t *testing.T) {
	program := runner(t)
	c, err := chart(t, chartValues(t))
	ok(t, err)
	for name, p := range c.pods {
		args := append(slices.Clone(p.spec.Containers[0].Args), "--help")
		if said, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, said)
		}
	}
}
