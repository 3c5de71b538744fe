package deployment_test

import (
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// A setting that can release nothing gives a warning at the field that causes it.
func TestSettingsThatReleaseNothingGiveAWarning(t *testing.T) {
	for name, test := range map[string]struct {
		change      func(c *deployment.Config, m *deployment.Metric)
		field, says string
	}{
		"threshold": {func(_ *deployment.Config, m *deployment.Metric) {
			m.Keys, m.Target.Absolute = deployment.Keys{}, 1e6
		}, "Target.Absolute", "released if its count exceeds"},
		"vague": {func(_ *deployment.Config, m *deployment.Metric) { m.Target.Absolute = 2e6 }, "Target.Absolute",
			"an error of ±"},
		"a filter": {func(c *deployment.Config, m *deployment.Metric) {
			c.Events.Format.Format, c.Events.Format.Columns, m.Filter = "csv", []string{"user", "key", "time",
				"status"}, `status == "200"`
		}, "Filter", `"status" never equals "200"`},
		"none": {func(*deployment.Config, *deployment.Metric) {}, "", ""},
	} {
		c := deploytest.Config("localhost:1")
		c.Metrics = []deployment.Metric{hourly("m")}
		c.Metrics[0].MaxEventsPerKey = 1
		test.change(&c, &c.Metrics[0])
		d, err := deployment.Compile(c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := deployment.Warnings(d)
		if test.field == "" && len(all) == 0 {
			continue
		}
		if len(all) != 1 || all[0].Field != "Metrics[0]."+test.field || !strings.Contains(all[0].Error(), test.says) {
			t.Errorf("%s: warnings %v", name, all)
		}
	}
}
