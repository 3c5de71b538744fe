package deployfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// cluster has the pods and configurations of manifests, by the names of their objects.
type cluster struct {
	pods    map[string]corev1.PodSpec
	configs []string
}

// decode decodes manifests. Unknown fields and values of another type are errors. It ignores
// objects for operators.
func decode(t *testing.T, manifests string) cluster {
	t.Helper()
	c := cluster{pods: map[string]corev1.PodSpec{}}
	for part := range strings.SplitSeq(manifests, "\n---\n") {
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		ok(t, yaml.Unmarshal([]byte(part), &head))
		strict := func(object any) {
			t.Helper()
			if err := yaml.UnmarshalStrict([]byte(part), object); err != nil {
				t.Errorf("%s %s: %v", head.Kind, head.Metadata.Name, err)
			}
		}
		switch head.Kind {
		case "ConfigMap":
			var m corev1.ConfigMap
			strict(&m)
			c.configs = append(c.configs, m.Data["tollgate.yaml"])
		case "StatefulSet":
			var o appsv1.StatefulSet
			strict(&o)
			c.pods[head.Metadata.Name] = o.Spec.Template.Spec
			if strings.HasPrefix(head.Metadata.Name, "tollgate") && *o.Spec.Replicas != 1 {
				t.Errorf("there are %d runs", *o.Spec.Replicas)
			}
		case "Deployment":
			var o appsv1.Deployment
			strict(&o)
			c.pods[head.Metadata.Name] = o.Spec.Template.Spec
		case "Job":
			var o batchv1.Job
			strict(&o)
			c.pods[head.Metadata.Name] = o.Spec.Template.Spec
		case "NetworkPolicy":
			var o networkingv1.NetworkPolicy
			strict(&o)
			if len(o.Spec.PolicyTypes) == 2 &&
				(len(o.Spec.Ingress) == 0 || len(o.Spec.Ingress[0].From) == 0 || len(o.Spec.Egress) == 0) {
				t.Errorf("NetworkPolicy %s lets everything in or out", head.Metadata.Name)
			}
		case "PersistentVolumeClaim":
			strict(&corev1.PersistentVolumeClaim{})
		case "PodDisruptionBudget":
			strict(&policyv1.PodDisruptionBudget{})
		case "Service":
			strict(&corev1.Service{})
		case "ServiceAccount":
			strict(&corev1.ServiceAccount{})
		case "Ingress":
			strict(&networkingv1.Ingress{})
		case "PodMonitor", "FlinkDeployment", "": // "": only comments
		default:
			t.Errorf("%s %s: nothing checks objects of this kind", head.Kind, head.Metadata.Name)
		}
	}
	return c
}

// chart renders the chart with the configuration of an overlay.
func chart(t *testing.T, more ...string) cluster {
	t.Helper()
	values := filepath.Join(t.TempDir(), "values.yaml")
	text, err := yaml.Marshal(map[string]any{
		"config": string(file(t, "kubernetes/overlays/production/tollgate.yaml")),
		"run":    map[string]any{"args": []string{"--strict"}, "secrets": []string{"tollgate-kafka"}},
		"serve": map[string]any{"secrets": []string{"tollgate-kafka-serve"},
			"env": []map[string]string{{"name": "TOLLGATE__KAFKA__SASL__USER", "value": "tollgate-serve"}}},
		"podMonitor": map[string]any{"enabled": true}, "extraConfigMap": map[string]any{"name": "tollgate-ca"},
	})
	ok(t, err)
	ok(t, os.WriteFile(values, text, 0o600))
	return decode(t,
		tool(t,
			append([]string{"helm", "template", "tollgate", deploy + "helm/tollgate", "--values", values}, more...)...))
}

func TestManifestsAreForThisProgram(t *testing.T) {
	begin := []string{"--set", "init.enabled=true", "--set",
		"init.args={--replication,3,--strict,--begin-first-promise}"}
	clusters := map[string]cluster{"chart": chart(t), "chart-init": chart(t, begin...),
		"flink": decode(t, string(file(t, "flink/kubernetes/cluster.yaml")))}
	for _, overlay := range []string{"tryout", "tryout-init", "production", "production-init"} {
		clusters[overlay] = decode(t, tool(t, "kustomize", "build", deploy+"kubernetes/overlays/"+overlay))
	}
	for name, c := range clusters {
		t.Run(name, func(t *testing.T) {
			if name != "flink" {
				c.checkConfig(t)
				c.checkSecrets(t)
			}
			for pod, spec := range c.pods {
				checkPod(t, pod, spec)
			}
			if _, begins := c.pods["tollgate-init"]; begins != strings.HasSuffix(name, "-init") {
				t.Errorf("a job begins a deployment: %v", begins)
			}
		})
	}
}

// checkConfig validates the one configuration in the environment of the pods.
func (c cluster) checkConfig(t *testing.T) {
	t.Helper()
	if len(c.configs) != 1 {
		t.Fatalf("%d configurations", len(c.configs))
	}
	path := filepath.Join(t.TempDir(), "tollgate.yaml")
	// Users of the overlay provide the ConfigMap with the authority's certificate.
	ok(t, os.WriteFile(path, []byte(strings.ReplaceAll(c.configs[0], "{ca: /etc/tollgate-ca/ca.pem}", "true")), 0o600))
	t.Setenv("TOLLGATE_PASSWORD", "x")
	t.Setenv("TOLLGATE_NOISE_KEY", strings.Repeat("1", 64))
	t.Setenv("TOLLGATE_USER_HASH_KEY", strings.Repeat("2", 64))
	for _, spec := range c.pods {
		for _, e := range spec.Containers[0].Env {
			t.Setenv(e.Name, e.Value)
		}
	}
	output(t, runner(t), "validate", "--offline", "--config", path)
}

// checkSecrets checks that the run has the keys and the page does not.
func (c cluster) checkSecrets(t *testing.T) {
	t.Helper()
	keys := func(pod string) bool {
		spec := c.pods[pod]
		return strings.Contains(fmt.Sprint(spec.Volumes, spec.Containers[0].EnvFrom), "tollgate-keys")
	}
	if !keys("tollgate-run") || keys("tollgate-serve") {
		t.Errorf("the run has keys: %v, the page: %v", keys("tollgate-run"), keys("tollgate-serve"))
	}
}

// checkPod checks the containers of the program: their arguments are valid, only the job begins a
// deployment, and none is root, can write or has a token of the cluster.
func checkPod(t *testing.T, pod string, spec corev1.PodSpec) {
	t.Helper()
	for _, c := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
		if !strings.Contains(c.Image, "tollgate/tollgate") {
			continue
		}
		checkArgs(t, c.Args)
		if slices.Contains(c.Args, "init") && pod != "tollgate-init" {
			t.Errorf("%s begins a deployment whenever it starts: %v", pod, c.Args)
		}
		s := c.SecurityContext
		if *spec.AutomountServiceAccountToken || !*spec.SecurityContext.RunAsNonRoot || !*s.ReadOnlyRootFilesystem ||
			*s.AllowPrivilegeEscalation ||
			!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s: %s may do more than it needs", pod, c.Name)
		}
		if c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: %s has no limit of memory", pod, c.Name)
		}
		if pod == "tollgate-init" {
			continue
		}
		for path, probe := range map[string]*corev1.Probe{"/-/ready": c.ReadinessProbe, "/-/healthy": c.LivenessProbe} {
			if probe == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != c.Ports[0].Name {
				t.Errorf("%s: %s is not asked for %s", pod, c.Name, path)
			}
		}
	}
}
