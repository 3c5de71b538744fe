package pipeline

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/schemas"
)

// The Kafka key of a count names the window by metric and start alone: whatever is changed, even
// across generations without the metric, its name means one window size, and after a change it
// releases no window that began before.
func TestRuleAKeyOfCountsNamesOneWindow(t *testing.T) {
	t.Parallel()
	compiled := func(change func(*deployment.Config)) schemas.Header {
		cfg := deploytest.Config("localhost:1")
		cfg.Metrics[0].Slide = cfg.Metrics[0].Window
		change(&cfg)
		d := mustCompile(t, cfg)
		return changes.Header(d)
	}
	same := func(*deployment.Config) {}
	first := compiled(same)
	first.FromTurn = 1
	other := compiled(func(c *deployment.Config) { c.Metrics[0].Name = "other" })
	without := changes.Succeed(&first, &other, 11, 600_000, nil)
	for name, change := range map[string]func(*deployment.Config){
		"a longer window": func(c *deployment.Config) { c.Metrics[0].Window *= 2 },
		"a share's window": func(c *deployment.Config) {
			c.Metrics[0].Window, c.Metrics[0].Counted = time.Hour, &deployment.Counted{}
		},
	} {
		for _, h := range []*schemas.Header{&first, &without} {
			want := compiled(change)
			all := changes.Differences(h, &want)
			if len(all) == 0 || !strings.Contains(all[0].Never, "new name") {
				t.Errorf("%s in generation %d: %+v", name, h.Generation, all)
			}
		}
	}
	for name, change := range map[string]func(*deployment.Config){
		"back again":  same,
		"other keys":  func(c *deployment.Config) { c.Metrics[0].Keys.List = []string{"z"} },
		"from a list": func(c *deployment.Config) { c.Metrics[0].Keys.List = []string{"a"} },
	} {
		want := compiled(change)
		if all := changes.Differences(&without, &want); len(all) == 0 || all[0].Never != "" {
			t.Fatalf("%s: %+v", name, all)
		}
		next := changes.Succeed(&without, &want, 21, 1_200_000, nil)
		turns := calendar.New(&next, 0)
		for turn := uint64(1); turn < 60; turn++ {
			for _, w := range turns.Ending(turn) {
				if w.WindowStart < 1_200_000 {
					t.Errorf("%s: turn %d ends a window that began at %d, before the change", name, turn, w.WindowStart)
				}
			}
		}
	}
	// Neither can two metrics share a name, nor a name hold what separates the parts.
	for _, name := range []string{"a|b", "|", "", "a\xff", strings.Repeat("n", 201)} {
		cfg := deploytest.Config("localhost:1")
		cfg.Metrics[0].Name = name
		if _, err := deployment.Compile(cfg); err == nil || !strings.Contains(err.Error(), "Metrics[0].Name") {
			t.Errorf("a metric called %q: %v", name, err)
		}
	}
}
