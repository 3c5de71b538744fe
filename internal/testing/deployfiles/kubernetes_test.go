package deployfiles

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	_ "github.com/prometheus/prometheus/discovery/kubernetes" // registers kubernetes_sd_configs
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// cluster is what an overlay comes to, decoded into the types of the API, by kind/name.
type cluster struct {
	namespace string
	objects   map[string]any
	pods      map[string]pod // by the name of what makes them
}

type pod struct {
	labels map[string]string
	spec   corev1.PodSpec
}

// kinds are those that the overlays may have.
func kind(name string) any {
	return map[string]any{
		"ConfigMap": &corev1.ConfigMap{}, "Service": &corev1.Service{}, "ServiceAccount": &corev1.ServiceAccount{},
		"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
		"Job": &batchv1.Job{}, "NetworkPolicy": &networkingv1.NetworkPolicy{}, "Ingress": &networkingv1.Ingress{}, "PodMonitor": &monitoringv1.PodMonitor{},
	}[name]
}

// overlay builds one as kubectl apply -k does, and decodes it strictly.
func overlay(t *testing.T, name string) cluster {
	t.Helper()
	return kustomized(t, deploy+"kubernetes/overlays/"+name)
}

func kustomized(t *testing.T, dir string) cluster {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	ok(t, err)
	c := cluster{objects: map[string]any{}, pods: map[string]pod{}}
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		ok(t, err)
		c.add(t, r.GetKind(), r.GetName(), text)
		if c.namespace == "" {
			c.namespace = r.GetNamespace()
		}
		if r.GetNamespace() != c.namespace || c.namespace == "" {
			t.Errorf("%s %s is in namespace %q", r.GetKind(), r.GetName(), r.GetNamespace())
		}
	}
	return c
}

// add decodes an object strictly.
func (c *cluster) add(t *testing.T, of, name string, text []byte) {
	t.Helper()
	object := kind(of)
	if object == nil {
		t.Fatalf("no check of a %s is known", of)
	}
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		t.Errorf("%s %s: %v", of, name, err)
	}
	c.objects[of+"/"+name] = object
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		c.pods[name] = podOf(t, o.Spec.Template, o.Spec.Selector)
	case *batchv1.Job:
		c.pods[name] = pod{o.Spec.Template.Labels, o.Spec.Template.Spec}
	case *appsv1.Deployment:
		c.pods[name] = podOf(t, o.Spec.Template, o.Spec.Selector)
	}
}

func podOf(t *testing.T, template corev1.PodTemplateSpec, selector *metav1.LabelSelector) pod {
	t.Helper()
	if !selects(t, selector, template.Labels) {
		t.Errorf("selector %v does not select its own pods, %v", selector, template.Labels)
	}
	return pod{template.Labels, template.Spec}
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	ok(t, err)
	return !s.Empty() && s.Matches(set(of))
}

type set map[string]string

func (s set) Has(name string) bool              { _, is := s[name]; return is }
func (s set) Get(name string) string            { return s[name] }
func (s set) Lookup(name string) (string, bool) { v, is := s[name]; return v, is }

var overlays = []string{"tryout", "tryout-init", "production", "production-init"}

func TestOverlaysAreWell(t *testing.T) {
	for _, name := range overlays {
		t.Run(name, func(t *testing.T) {
			c := overlay(t, name)
			c.check(t)
			c.checkBeginning(t, strings.HasSuffix(name, "-init"))
		})
	}
}

// check sees that the objects are there, name each other rightly, and may do no more than they
// need.
func (c cluster) check(t *testing.T) {
	t.Helper()
	for _, want := range []string{"StatefulSet/tollgate-run", "Deployment/tollgate-serve", "Service/tollgate-run", "Service/tollgate-serve",
		"PodDisruptionBudget/tollgate-run", "PodDisruptionBudget/tollgate-serve", "NetworkPolicy/tollgate-run", "NetworkPolicy/tollgate-serve"} {
		if c.objects[want] == nil {
			t.Errorf("there is no %s", want)
		}
	}
	c.checkReferences(t)
	for name, p := range c.pods {
		checkPod(t, name, p.spec)
	}
	c.checkRun(t)
}

// checkReferences follows the names by which objects know of each other.
func (c cluster) checkReferences(t *testing.T) {
	t.Helper()
	chosen := func(who string, selector *metav1.LabelSelector, want string) {
		for name, p := range c.pods {
			if got := selects(t, selector, p.labels); got != (name == want) {
				t.Errorf("%s: that it selects the pods of %s is %v", who, name, got)
			}
		}
	}
	for name, object := range c.objects {
		_, own, _ := strings.Cut(name, "/")
		switch o := object.(type) {
		case *policyv1.PodDisruptionBudget:
			chosen(name, o.Spec.Selector, own)
		case *networkingv1.NetworkPolicy:
			for pods, p := range c.pods {
				with := pods == own || own == "tollgate-run" && pods == "tollgate-init" // the job needs what the run needs
				if got := selects(t, &o.Spec.PodSelector, p.labels); got != with {
					t.Errorf("%s: that it selects the pods of %s is %v", name, pods, got)
				}
			}
			if len(o.Spec.PolicyTypes) != 2 || len(o.Spec.Ingress) != 1 || len(o.Spec.Ingress[0].From) == 0 || len(o.Spec.Egress) == 0 {
				t.Errorf("%s lets everything in or out: %+v", name, o.Spec)
			}
			c.checkEgress(t, own, o)
			for _, rule := range o.Spec.Ingress {
				for _, port := range rule.Ports {
					c.checkPort(t, name, own, *port.Port)
				}
			}
		case *corev1.Service:
			chosen(name, &metav1.LabelSelector{MatchLabels: o.Spec.Selector}, own)
			for _, port := range o.Spec.Ports {
				if port.TargetPort.Type == intstr.String {
					c.checkPort(t, name, own, port.TargetPort)
				}
			}
		case *appsv1.StatefulSet:
			if c.objects["Service/"+o.Spec.ServiceName] == nil {
				t.Errorf("%s: there is no service %s", name, o.Spec.ServiceName)
			}
		case *networkingv1.Ingress:
			for _, path := range o.Spec.Rules[0].HTTP.Paths {
				service, _ := c.objects["Service/"+path.Backend.Service.Name].(*corev1.Service)
				if service == nil || service.Spec.Ports[0].Name != path.Backend.Service.Port.Name {
					t.Errorf("%s: %s leads nowhere", name, path.Path)
				}
				if path.Path == "/" && *path.PathType != networkingv1.PathTypeExact {
					t.Errorf("%s: metrics and probes are public", name)
				}
			}
		}
	}
}

// checkEgress sees that a pod reaches the brokers of the configuration, and what gives tokens; and
// the run a registry of schemas.
func (c cluster) checkEgress(t *testing.T, own string, policy *networkingv1.NetworkPolicy) {
	t.Helper()
	want := []int32{443}
	if own == "tollgate-run" {
		want = append(want, 8081)
	}
	for _, object := range c.objects {
		m, is := object.(*corev1.ConfigMap)
		if !is {
			continue
		}
		var file struct{ Kafka struct{ Brokers []string } }
		ok(t, yaml.Unmarshal([]byte(m.Data["tollgate.yaml"]), &file))
		for _, address := range file.Kafka.Brokers {
			_, port, err := net.SplitHostPort(address)
			ok(t, err)
			number, err := strconv.ParseInt(port, 10, 32)
			ok(t, err)
			want = append(want, int32(number))
		}
	}
	var open []int32
	for _, rule := range policy.Spec.Egress {
		for _, port := range rule.Ports {
			open = append(open, port.Port.IntVal)
		}
	}
	for _, port := range want {
		if !slices.Contains(open, port) {
			t.Errorf("NetworkPolicy/%s does not let port %d out", own, port)
		}
	}
}

func (c cluster) checkPort(t *testing.T, who, pods string, port intstr.IntOrString) {
	t.Helper()
	for _, container := range c.pods[pods].spec.Containers {
		if slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.StrVal }) {
			return
		}
	}
	t.Errorf("%s: no container has port %s", who, port.StrVal)
}

// checkPod sees that a pod is not root, has no token, and can write to nothing that it need not.
func checkPod(t *testing.T, name string, s corev1.PodSpec) {
	t.Helper()
	if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken || s.EnableServiceLinks == nil || *s.EnableServiceLinks || s.SecurityContext == nil || !*s.SecurityContext.RunAsNonRoot {
		t.Errorf("%s: it is root, has a token of the API, or variables of other services", name)
	}
	volumes := map[string]bool{}
	for _, v := range s.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range append(slices.Clone(s.InitContainers), s.Containers...) {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: there is no volume %s", name, m.Name)
			}
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: %s has no limits", name, c.Name)
		}
		if !strings.Contains(c.Image, "tollgate/tollgate") {
			continue
		}
		x := c.SecurityContext
		if x == nil || !*x.ReadOnlyRootFilesystem || *x.AllowPrivilegeEscalation || !slices.Equal(x.Capabilities.Drop, []corev1.Capability{"ALL"}) || *s.SecurityContext.RunAsUser != 65532 {
			t.Errorf("%s: %s may do more than it needs", name, c.Name)
		}
		if strings.HasPrefix(name, "tollgate-") && c.Name != "init" {
			for what, probe := range map[string]*corev1.Probe{"/-/ready": c.ReadinessProbe, "/-/healthy": c.LivenessProbe} {
				if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != what || probe.HTTPGet.Port.StrVal != c.Ports[0].Name {
					t.Errorf("%s: %s is not asked for %s", name, c.Name, what)
				}
			}
			checkMemory(t, name, c)
			if listen := c.Args[slices.Index(c.Args, "--listen")+1]; listen != fmt.Sprintf("0.0.0.0:%d", c.Ports[0].ContainerPort) {
				t.Errorf("%s listens at %s, and its port is %d", name, listen, c.Ports[0].ContainerPort)
			}
		}
	}
}

// checkMemory sees that a container collects garbage before it is killed for its memory.
func checkMemory(t *testing.T, name string, c corev1.Container) {
	t.Helper()
	at := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	if at < 0 {
		t.Errorf("%s: %s has no GOMEMLIMIT", name, c.Name)
		return
	}
	soft, err := resource.ParseQuantity(strings.TrimSuffix(c.Env[at].Value, "B"))
	ok(t, err)
	if part := float64(soft.Value()) / float64(c.Resources.Limits.Memory().Value()); part < 0.8 || part > 0.95 {
		t.Errorf("%s: GOMEMLIMIT of %s is %.2f of its limit", name, c.Name, part)
	}
}

// checkRun sees that the run is one, is moved quickly, and has the keys that the page has not.
func (c cluster) checkRun(t *testing.T) {
	t.Helper()
	run := c.objects["StatefulSet/tollgate-run"].(*appsv1.StatefulSet).Spec
	if *run.Replicas != 1 || run.PodManagementPolicy != appsv1.ParallelPodManagement || len(run.Template.Spec.Tolerations) != 2 {
		t.Errorf("%+v", run)
	}
	if args := run.Template.Spec.Containers[0].Args; !slices.Contains(args, "--wait-for-broker") {
		t.Errorf("the run does not wait for a broker: %v", args)
	}
	for _, tolerated := range run.Template.Spec.Tolerations {
		if *tolerated.TolerationSeconds > 30 {
			t.Errorf("it stays on a node that is gone for %d s", *tolerated.TolerationSeconds)
		}
	}
	has := func(s corev1.PodSpec) (secrets []string) {
		for _, c := range append(slices.Clone(s.InitContainers), s.Containers...) {
			for _, e := range c.EnvFrom {
				secrets = append(secrets, e.SecretRef.Name)
			}
		}
		for _, v := range s.Volumes {
			if v.Secret != nil {
				secrets = append(secrets, v.Secret.SecretName)
			}
		}
		return secrets
	}
	if got := has(run.Template.Spec); !slices.Contains(got, "tollgate-keys") {
		t.Errorf("the run has no keys: %v", got)
	}
	if got := has(c.pods["tollgate-serve"].spec); slices.Contains(got, "tollgate-keys") || slices.Contains(got, "tollgate-kafka") {
		t.Errorf("the page has secrets of the run: %v", got)
	}
}

// checkBeginning sees that no pod that is started again and again begins a deployment: only a job
// does, which has what the run has, and which says that it is the first.
func (c cluster) checkBeginning(t *testing.T, begins bool) {
	t.Helper()
	for name, p := range c.pods {
		for _, container := range append(slices.Clone(p.spec.InitContainers), p.spec.Containers...) {
			if slices.Contains(container.Args, "init") && name != "tollgate-init" {
				t.Errorf("%s begins a deployment whenever it starts: %v", name, container.Args)
			}
		}
	}
	job, is := c.pods["tollgate-init"]
	if is != begins {
		t.Errorf("that there is a job for the beginning is %v", is)
	}
	if !is {
		return
	}
	run, first := c.pods["tollgate-run"].spec.Containers[0], job.spec.Containers[0]
	if first.Image != run.Image || fmt.Sprint(first.EnvFrom, first.VolumeMounts, job.spec.Volumes) != fmt.Sprint(run.EnvFrom, run.VolumeMounts, c.pods["tollgate-run"].spec.Volumes) {
		t.Errorf("the job has another image, other keys or other files than the run: %+v, %+v", first, run)
	}
	if !slices.Contains(first.Args, "--begin-first-promise") || slices.Contains(first.Args, "--begin-second-promise") {
		t.Errorf("the job begins with %v", first.Args)
	}
}

// The program takes the configuration and the arguments of every pod.
func TestOverlaysAreForThisProgram(t *testing.T) {
	program := runner(t)
	for _, name := range overlays {
		c := overlay(t, name)
		checked := 0
		for what, object := range c.objects {
			m, is := object.(*corev1.ConfigMap)
			if !is {
				continue
			}
			checked++
			path := filepath.Join(t.TempDir(), "tollgate.yaml")
			// The authority's certificate is in another ConfigMap, which the reader makes.
			ok(t, os.WriteFile(path, []byte(strings.ReplaceAll(m.Data["tollgate.yaml"], "{ca: /etc/tollgate-ca/ca.pem}", "true")), 0o600))
			cmd := exec.Command(program, "validate", "--offline", "--config", path)
			cmd.Env = append(os.Environ(), "TOLLGATE_PASSWORD=x", "TOLLGATE_NOISE_KEY="+strings.Repeat("1", 64), "TOLLGATE_USER_HASH_KEY="+strings.Repeat("2", 64))
			for _, p := range c.pods {
				for _, container := range p.spec.Containers {
					for _, e := range container.Env {
						cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
					}
				}
			}
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v: %s", name, what, err, said)
			}
		}
		if checked != 1 {
			t.Errorf("%s has %d configurations", name, checked)
		}
		for _, p := range c.pods {
			for _, container := range append(slices.Clone(p.spec.InitContainers), p.spec.Containers...) {
				if strings.Contains(container.Image, "tollgate/tollgate") {
					if said, err := exec.Command(program, append(slices.Clone(container.Args), "--help")...).CombinedOutput(); err != nil {
						t.Errorf("%s: %v: %v: %s", name, container.Args, err, said)
					}
				}
			}
		}
	}
}

// A mistake in an overlay does not pass.
func TestMistakesInManifestsAreFound(t *testing.T) {
	for _, mistake := range []string{"spec: {replica: 2}", "spec: {replicas: two}", "spec: {template: {spec: {containers: [{name: a, readinessProb: {}}]}}}"} {
		if yaml.UnmarshalStrict([]byte(mistake), &appsv1.StatefulSet{}) == nil {
			t.Errorf("%s passes", mistake)
		}
	}
}

// What Prometheus makes of a pod's labels are the jobs of the alerts.
func TestPodsAreScrapedUnderTheJobsOfTheAlerts(t *testing.T) {
	c, err := config.LoadFile(deploy+"monitoring/prometheus-kubernetes.yaml", false, promslog.NewNopLogger())
	ok(t, err)
	for name, p := range overlay(t, "tryout").pods {
		meta := map[string]string{"__meta_kubernetes_pod_name": name + "-0", "__meta_kubernetes_namespace": "n", "__meta_kubernetes_pod_container_init": "false"}
		for label, value := range p.labels {
			meta["__meta_kubernetes_pod_label_"+strings.NewReplacer(".", "_", "/", "_").Replace(label)] = value
		}
		rules := c.ScrapeConfigs[0].RelabelConfigs
		for _, r := range rules {
			r.NameValidationScheme = model.UTF8Validation
		}
		b := labels.NewBuilder(labels.FromMap(meta))
		kept := relabel.ProcessBuilder(b, rules...)
		got := b.Labels()
		if ours := strings.HasPrefix(name, "tollgate-"); kept != ours || kept && (got.Get("job") != name || got.Get("instance") != name+"-0") {
			t.Errorf("%s: %v %s", name, kept, got)
		}
	}
}
