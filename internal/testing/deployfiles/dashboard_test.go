package deployfiles

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// .ci/run evaluates the alerts with promtool.
func TestAlertsHaveRunbooks(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	ok(t, yaml.Unmarshal(file(t, "monitoring/alerts.yaml"), &rules))
	runbook, found := string(file(t, "../docs/runbook.md")), 0
	for _, g := range rules.Groups {
		for _, a := range g.Rules {
			found++
			_, anchor, _ := strings.Cut(a.Annotations["runbook_url"], "#")
			if anchor != strings.ToLower(a.Alert) || !strings.Contains(runbook, "### "+a.Alert+"\n") {
				t.Errorf("%s: runbook_url %q is not a section of docs/runbook.md", a.Alert,
					a.Annotations["runbook_url"])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d alerts", found)
	}
}

// Tests of internal/app/monitor and internal/app/serve compare docs/metrics.md with the code.
func TestMetricsOfTheDashboardAndTheAlertsExist(t *testing.T) {
	metric := regexp.MustCompile(`\btollgate_[a-z_]+`)
	defined := metric.FindAllString(string(file(t, "../docs/metrics.md")), -1)
	for _, name := range []string{"monitoring/dashboard.json", "monitoring/alerts.yaml"} {
		used := metric.FindAllString(string(file(t, name)), -1)
		if len(used) < 10 {
			t.Errorf("%s: only %d metrics", name, len(used))
		}
		for _, u := range used {
			base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(u, "")
			if !slices.Contains(defined, u) && !slices.Contains(defined, base) {
				t.Errorf("%s: %s is not in docs/metrics.md", name, u)
			}
		}
	}
}
