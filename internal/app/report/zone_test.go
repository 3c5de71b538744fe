package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
)

// The days of a zone are one series, at its midnights, although one of them has 23 hours.
func TestWindowsOfAZoneAreShownByItsClock(t *testing.T) {
	t.Parallel()
	p := promiseFor()
	p.zone = "Europe/Zurich"
	c := newCollector(p, MaxPoints)
	moments := []time.Time{
		time.Date(2025, 3, 28, 23, 0, 0, 0, time.UTC), time.Date(2025, 3, 29, 23, 0, 0, 0, time.UTC),
		time.Date(2025, 3, 30, 22, 0, 0, 0, time.UTC), time.Date(2025, 3, 31, 22, 0, 0, 0, time.UTC),
	}
	for i, from := range moments[:3] {
		c.Add(schemas.Release{Metric: "visits", WindowStart: from.UnixMilli(), WindowEnd: moments[i+1].UnixMilli(),
			Key: "a", Value: 1024, StdDev: 1, Rungs: 1, Confidence: 0.95})
	}
	released, err := c.points.settle()
	if err != nil || len(released) != 1 {
		t.Fatalf("%d series, %v", len(released), err)
	}
	for i, p := range released[0].points {
		day := time.Date(2025, 3, 29+i, 0, 0, 0, 0, time.UTC)
		if p.start != day.UnixMilli() || p.end != day.AddDate(0, 0, 1).UnixMilli() {
			t.Errorf("day %d is shown from %v to %v", i, time.UnixMilli(p.start).UTC(), time.UnixMilli(p.end).UTC())
		}
	}
	var b strings.Builder
	if err := c.Write(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`data-zone="Europe/Zurich"`, "clocks in Europe/Zurich", fmt.Sprintf(`"first":%d,`,
		time.Date(2025, 3, 29, 0, 0, 0, 0, time.UTC).UnixMilli()), `"windows":3,`} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	if strings.Contains(b.String(), "All times are UTC") {
		t.Error("the page says that its times are in UTC")
	}
}
