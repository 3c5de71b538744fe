package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Days of Zurich around the end of March 2025, including one of 23 hours, with an event in every
// half hour: each day has its own events, and its window begins and ends at local midnight, even
// after a restart and a change. Another zone is always refused.
func TestRuleWindowsAreDaysOfTheirZone(t *testing.T) {
	t.Parallel()
	start := time.Date(2025, 3, 27, 23, 0, 0, 0, time.UTC)
	config := deploytest.Config(deploytest.Start(t).Addr())
	config.Privacy.Epsilon, config.Time.WindowZone = 1e5, "Europe/Zurich" // noise far below 1
	m := &config.Metrics[0]
	m.Window, m.Keys.List, m.Target.Relative, m.Target.Absolute = 24*time.Hour, []string{"a"}, 0, 0.02
	two := *m
	two.Name, two.Window, two.Slide = "two days", 48*time.Hour, 24*time.Hour
	config.Metrics = append(config.Metrics, two)
	d := deploy(t, config, start.Add(5*time.Hour), 1) // init moves it back to midnight
	var events []kafkalog.Message
	for moment := start; moment.Before(time.Date(2025, 3, 31, 22, 0, 0, 0,
		time.UTC)); moment = moment.Add(30 * time.Minute) {
		events = append(events, eventOf(fmt.Sprint("u", moment.Unix()), moment))
	}
	appendEvents(t, config.Kafka.Brokers[0], events...)
	_, err := Run(t.Context(), d, RunOptions{Until: start.Add(48 * time.Hour)})
	must.Succeed(t, err)
	changed := d.Config
	changed.Metrics = slices.Clone(changed.Metrics)
	changed.Metrics[0].MaxKeysPerUser = 1
	d = mustCompile(t, changed)
	if _, err := Change(t.Context(), d, ChangeOptions{}); !errors.Is(err, deployment.ErrOpenWindows) {
		t.Fatalf("a change in the middle of windows: %v", err)
	}
	if result, err := Change(t.Context(), d, ChangeOptions{Now: true}); err != nil ||
		!result.From.Equal(start.Add(48*time.Hour)) || fmt.Sprint(result.GivenUp) != "[two days]" {
		t.Fatal(result, err)
	}
	ran(t, d)
	all := must.Have(ReadReleases(t.Context(), d))
	got := map[string]float64{}
	for _, r := range all {
		hour := func(millis int64) string { return time.UnixMilli(millis).UTC().Format("2006-01-02 15h") }
		got[r.Metric+" "+hour(r.WindowStart)+" "+hour(r.WindowEnd)] = math.Round(r.Count())
	}
	want := map[string]float64{
		"views 2025-03-27 23h 2025-03-28 23h":    48,
		"views 2025-03-28 23h 2025-03-29 23h":    48,
		"views 2025-03-29 23h 2025-03-30 22h":    46,
		"views 2025-03-30 22h 2025-03-31 22h":    48,
		"two days 2025-03-27 23h 2025-03-29 23h": 96,
		"two days 2025-03-29 23h 2025-03-31 22h": 94,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("released:\n%v\nwant:\n%v", got, want)
	}
	for _, zone := range []string{"", "UTC", "Europe/Berlin"} {
		other := d.Config
		other.Time.WindowZone = zone
		if _, err := Run(t.Context(), mustCompile(t, other), RunOptions{Bounded: true}); !errors.Is(err,
			deployment.ErrHeaderMismatch) {
			t.Errorf("a run with the zone %q: %v", zone, err)
		}
		if _, err := Change(t.Context(), mustCompile(t, other), ChangeOptions{}); err == nil {
			t.Errorf("a change to the zone %q was made", zone)
		}
	}
	if _, err := deployment.Compile(withZone(d.Config, "Mars/Olympus")); err == nil || !strings.Contains(err.Error(),
		"Time.WindowZone") {
		t.Errorf("a zone that does not exist: %v", err)
	}
}

func withZone(c deployment.Config, zone string) deployment.Config {
	c.Time.WindowZone = zone
	return c
}
