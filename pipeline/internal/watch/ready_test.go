package watch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// A run is not ready half a minute after everything stops, whatever the reason, and ready again as
// soon as something moves. It stays ready while windows fill up, reading is slow, or the clock will
// close silent partitions.
func TestRuleARunThatStandsStillIsNotReadyWithinHalfAMinute(t *testing.T) {
	start := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	end := start.Add(time.Minute)
	rules := Rules{lateness: 10 * time.Second, slack: time.Second, skew: time.Second, grace: 5 * time.Second,
		idle: true}
	latest := end.Add(16 * time.Second)
	alive := func(now time.Time) (Progress, time.Time) {
		return Progress{End: end.UnixMilli(), Result: end.UnixMilli(),
			Partitions: []Partition{{ID: 0, Next: 7, High: 7, LastStable: 7, HeldBack: true}}}, now
	}
	for _, c := range []struct {
		name  string
		from  time.Time // when it stops moving; zero: never
		state func(now time.Time) (p Progress, seen time.Time, settled uint64, troubles []kafkalog.Trouble)
		want  string
	}{
		{"a window that fills up", time.Time{}, func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
			p, polled := alive(now)
			p.Result, p.End = end.Add(time.Hour).UnixMilli(), end.Add(time.Hour).UnixMilli()
			return p, polled, 1, nil
		}, ""},
		{"turns are settled", time.Time{}, func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
			p, polled := alive(now)
			return p, polled, uint64(now.Sub(start) / (10 * time.Second)), nil
		}, ""},
		{"much to read", time.Time{}, func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
			p, polled := alive(now)
			p.Partitions[0].Next, p.Partitions[0].High = now.Unix(), now.Unix()+1000
			return p, polled, 1, nil
		}, ""},
		{"counts are due", latest, func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
			p, polled := alive(now)
			return p, polled, 1, nil
		}, "counts have been due since 2025-03-01T12:01:16Z"},
		{"a pause of a stream that is behind the clock", time.Time{},
			func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
				p, polled := alive(now)
				p.Partitions[0].SilentFrom = now.Add(-4 * time.Second).UnixMilli() // the grace is 5 s
				return p, polled, 1, nil
			}, ""},
		{"a stream that is behind the clock, and read by workers", end.Add(time.Hour + 16*time.Second),
			func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
				p, polled := alive(now)
				p.Partitions, p.Delay = nil, time.Hour
				return p, polled, 1, nil
			}, "counts have been due since 2025-03-01T13:01:16Z"},
		{"a turn that is not settled", start, func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
			p, polled := alive(now)
			p.Open, p.OpenedAt, p.End = 2, start, calendar.Forever
			return p, polled, 1, nil
		}, "turn 2 was opened at 2025-03-01T12:00:00Z and is not settled"},
		{"values that wait for their instant", time.Time{},
			func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
				p, polled := alive(now)
				p.Open, p.OpenedAt, p.End = 2, start, calendar.Forever
				return p, polled, 1, nil
			}, ""},
		{"a large turn at work", time.Time{}, func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
			p, polled := alive(now)
			p.Open, p.OpenedAt, p.Worked = 2, start, now.Add(-15*time.Second) // the next turns are due meanwhile
			return p, polled, 1, nil
		}, ""},
		{"a large turn that gets stuck", start.Add(time.Minute),
			func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
				p, polled := alive(now)
				p.Open, p.OpenedAt, p.Worked, p.End = 2, start, now, calendar.Forever
				if stuck := start.Add(time.Minute); now.After(stuck) {
					p.Worked = stuck
				}
				return p, polled, 1, nil
			}, "turn 2 was opened at 2025-03-01T12:00:00Z and is not settled"},
		{"reading stands still", start, func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
			p, _ := alive(now)
			return p, start, 1, nil
		}, "reading has made no progress since"},
		{"no answer", start, func(now time.Time) (Progress, time.Time, uint64, []kafkalog.Trouble) {
			p, polled := alive(now)
			return p, polled, 1,
				[]kafkalog.Trouble{{Doing: "reading topic \"secret\"", Since: start, Cause: errors.New("secret")}}
		}, "Kafka has not answered properly since 2025-03-01T12:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := rules
			if c.name == "values that wait for their instant" {
				rules.publishEvery = time.Hour
			}
			r := NewReadiness(rules)
			for now := start; now.Before(start.Add(3 * time.Minute)); now = now.Add(time.Second) {
				p, seen, settled, troubles := c.state(now)
				why := r.Check(now, p, seen, settled, troubles)
				still := !c.from.IsZero() && now.Sub(c.from) >= 29*time.Second
				if still && !strings.HasPrefix(why, c.want) || !still && why != "" &&
					(c.want == "" || now.Sub(c.from) < notReadyAfter) {
					t.Fatalf("after %s: %q", now.Sub(start), why)
				}
			}
			p, seen := alive(start.Add(4 * time.Minute))
			p.End, p.Result = end.Add(time.Hour).UnixMilli(), end.Add(time.Hour).UnixMilli()
			if why := r.Check(start.Add(4*time.Minute), p, seen, 1000, nil); why != "" {
				t.Errorf("it moves again: %q", why)
			}
		})
	}
	if why := NewReadiness(rules).Check(start, Progress{}, time.Time{}, 0, nil); !strings.HasPrefix(why, "starting") {
		t.Errorf("before it has read: %q", why)
	}
}
