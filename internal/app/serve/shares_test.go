package serve

import (
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// The share of counted events follows from the two released numbers, and its interval from theirs.
func TestSharesOfCountedEventsAreServed(t *testing.T) {
	d := compiled(t, "127.0.0.1:1", func(c *deployment.Config) { c.Metrics[0].Counted = &deployment.Counted{} })
	rows := append(windows(0, 3), value("views.counted", "counted", 1, 824.5), value("views.counted", "left_out", 1,
		175.5),
		value("views.counted", "counted", 2, -3), value("views.counted", "left_out", 2, -1), // nothing is known
		value("views.counted", "counted", 3, 2000)) // the other one is still to come
	described := readDescription(t)
	check := func(rows []schemas.Release) string {
		v, err := newView(d, rows, report.Options{}, report.Live{})
		if err != nil {
			t.Fatal(err)
		}
		described.check(t, "/v1/shares", reference{"#/components/schemas/Shares"}, v.shares)
		const want = `{"shares":[{"metric":"views","window_start":"2025-03-03T00:01:00Z",` +
			`"window_end":"2025-03-03T00:02:00Z","share":0.8245,"low":0.8,"high":0.849,"confidence":0.9}]}`
		if got := string(v.shares); got != want {
			t.Errorf("shares are %s, want %s", got, want)
		}
		return string(v.page.plain)
	}
	if page := check(rows); strings.Contains(page, "of the events of the window") {
		t.Error("the page says a share of a window of which one number is missing")
	}
	const sentence = "About 82% of the events of the window that ended at 2025-03-03 00:02 are counted in these " +
		"values (between 80 and 85%, at 90% confidence). The others were left out: they are beyond the allowances " +
		"of their users. In this share, a user with more than 4 events weighs no more than one with that many. If " +
		"some users have far more, the real share is usually lower. It includes events of keys that were not " +
		"released.</p>"
	if page := check(rows[:len(rows)-3]); !strings.Contains(page, sentence) {
		_, shown, _ := strings.Cut(page, "About ")
		t.Errorf("the page does not say which share is counted, but: %.500s", shown)
	}
	const silent = "The noise hides which share of the events of the window that ended at 2025-03-03 00:03 is " +
		"counted in these values: there are too few of them."
	// from 0 to 100%
	wide := append(rows[:len(rows)-3:len(rows)-3], value("views.counted", "counted", 2, 10), value("views.counted",
		"left_out", 2, 5))
	v, err := newView(d, wide, report.Options{}, report.Live{})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{check(rows[:len(rows)-1]), string(v.page.plain)} {
		if !strings.Contains(page, silent) || strings.Contains(page, "About ") {
			t.Error("the page says a share of a window of which nothing is known")
		}
	}
	d = compiled(t, "127.0.0.1:1", func(c *deployment.Config) {
		c.Metrics[0].Counted, c.Metrics[0].Ladder = &deployment.Counted{}, deployment.Ladder{}
		c.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPublic, List: []string{"home", "cart"}}
	})
	if v, err = newView(d, rows[:len(rows)-3], report.Options{}, report.Live{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(v.page.plain), "the real share is usually lower.</p>") {
		t.Error("the page of public keys speaks of keys that were not released")
	}
}
