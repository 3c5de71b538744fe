package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Windows of two and of five seconds all end every ten seconds. A change waits for that and returns
// the time, even in a dry run; with Now it gives up the open windows of five seconds. Those are
// never released, and no other window is released twice.
func TestRuleAChangeWaitsForTheEndOfAllWindows(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, now := range []bool{false, true} {
		t.Run(fmt.Sprintf("now: %v", now), func(t *testing.T) {
			t.Parallel()
			d, next := bounded(t, func(c *deployment.Config) {
				five := c.Metrics[0]
				five.Name, five.Window = "five", 5*time.Second
				c.Metrics[0].Window = 2 * time.Second
				c.Metrics = append(c.Metrics, five)
			})
			until := func(d *deployment.Deployment, end time.Time) {
				t.Helper()
				_, err := Run(t.Context(), d, RunOptions{Until: end, Bounded: end.After(start.Add(9 * time.Second))})
				must.Succeed(t, err)
			}
			until(d, start.Add(8*time.Second))
			control := endOf(t, d, d.Config.Outputs.Control)
			if _, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{}); !errors.Is(err,
				deployment.ErrOpenWindows) || !strings.Contains(err.Error(), "metrics five") ||
				!strings.Contains(err.Error(), "--until 2026-01-01T00:00:10Z") {
				t.Errorf("a change in the middle of a window: %v", err)
			}
			dry, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{DryRun: true})
			if err != nil || fmt.Sprint(dry.GivenUp) != "[five]" || !dry.AllEnd.Equal(start.Add(10*time.Second)) {
				t.Errorf("a dry run: %+v, %v", dry, err)
			}
			if end := endOf(t, d, d.Config.Outputs.Control); end != control {
				t.Errorf("control grew from %d to %d", control, end)
			}
			from, givenUp := start.Add(8*time.Second), 1
			if !now {
				from, givenUp = dry.AllEnd, 0
				until(d, from)
			}
			result, err := Change(t.Context(), mustCompile(t, next), ChangeOptions{Now: now})
			if err != nil || !result.From.Equal(from) || len(result.GivenUp) != givenUp {
				t.Fatalf("the change: %+v, %v", result, err)
			}
			until(mustCompile(t, next), start.Add(20*time.Second))
			all := must.Have(ReadReleases(t.Context(), mustCompile(t, next)))
			got := map[string]int{}
			for _, r := range all {
				got[fmt.Sprintf("%s %d", r.Metric, (r.WindowStart-start.UnixMilli())/1000)]++
			}
			want := map[string]int{}
			for s := 0; s < 20; s++ {
				if s%2 == 0 {
					want[fmt.Sprintf("views %d", s)] = 3
				}
				if s%5 == 0 && (s != 5 || !now) {
					want[fmt.Sprintf("five %d", s)] = 3
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("released by window:\n%v\nwant:\n%v", got, want)
			}
		})
	}
}
