package reference

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

func TestWindowsLieOnMultiplesOfTheirSizeSinceTheEpoch(t *testing.T) {
	for _, c := range []struct {
		millis, size, start int64
	}{
		{0, 10, 0}, {9, 10, 0}, {10, 10, 10}, {11, 10, 10}, {-1, 10, -10}, {-10, 10, -10}, {-11, 10, -20},
	} {
		if got := windowOf(c.millis, c.size); got != (window{c.start, c.start + c.size}) {
			t.Errorf("window of %d by %d is %v, want start %d", c.millis, c.size, got, c.start)
		}
	}
}

func TestTurnsAreTheUnionOfWindowEnds(t *testing.T) {
	c := Config{Start: 60, Metrics: []schemas.MetricSpec{{WindowSize: 20}, {WindowSize: 30}}}
	want := []int64{80, 90, 100, 120, 140, 150}
	if got := c.TurnEnds(6); !slices.Equal(got, want) {
		t.Errorf("turn ends are %v, want %v", got, want)
	}
	for millis, turns := range map[int64]uint64{79: 0, 80: 1, 99: 2, 120: 4, 149: 5} {
		if got := c.TurnsUntil(millis); got != turns {
			t.Errorf("%d turns end at or before %d, want %d", got, millis, turns)
		}
	}
	for millis, turn := range map[int64]uint64{60: 1, 79: 1, 80: 2, 89: 2, 90: 3, 119: 4, 149: 6} {
		if got, ok := turnOf(millis, want); !ok || got != turn {
			t.Errorf("an event at %d falls into turn %d (%v), want %d", millis, got, ok, turn)
		}
	}
	if _, ok := turnOf(150, want); ok {
		t.Error("an event behind the last turn falls into a closed turn")
	}
}

func TestFateFollowsTheRecordsOwnTimes(t *testing.T) {
	c := Config{Start: 1000, Lateness: 50, Skew: 20, Slack: 30}
	for _, k := range []struct {
		name                     string
		millis, stamped, largest int64
		want                     Fate
	}{
		{"before the start wins over late", 999, 5000, 5000, BeforeStart},
		{"the start itself is in", 1000, 1000, 1000, Accepted},
		{"on the edge of lateness", 1950, 2000, 2000, Accepted},
		{"one past the edge of lateness", 1949, 2000, 2000, Late},
		{"a largest time within the slack does not count", 1950, 2000, 2030, Accepted},
		{"a largest time beyond the slack does", 1950, 2000, 2031, Late},
		{"on the edge of the future", 2020, 2000, 2000, Accepted},
		{"one past the edge of the future", 2021, 2000, 2000, Future},
	} {
		if got := c.fate(k.millis, k.stamped, k.largest); got != k.want {
			t.Errorf("%s: %s, want %s", k.name, got, k.want)
		}
	}
	c.NoFuture = true
	if got := c.fate(1<<40, 2000, 2000); got != Accepted {
		t.Errorf("with the test for the future off a record of the far future is %s", got)
	}
}

func TestAStampBeyondTheClockMovesNothing(t *testing.T) {
	c := testConfig(testMetric("m", "public", 100))
	c.Start, c.NoFuture, c.Skew, c.Clock = 1000, false, 10, 2000
	value := func(millis int) []byte { return fmt.Appendf(nil, `{"user":"u","page":"a","ts":%d}`, millis) }
	records := []Record{{0, 1010, value(1010)}, {1, 2011, value(1020)}, {2, 9999, value(999)}, {3, 1030, value(1030)}, {4, 2010, value(2010)}}
	fates, _, err := c.judge(0, records, nil, c.TurnEnds(3))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Fate{Accepted, Future, BeforeStart, Accepted, Accepted} {
		if fates[i].Fate != want {
			t.Errorf("record %d is %s, want %s", i, fates[i].Fate, want)
		}
	}
}

func TestJudgeKeepsTheOrderOfTheTests(t *testing.T) {
	c := testConfig(testMetric("m", "public", 100))
	c.Start, c.Lateness = 1000, 50
	value := func(millis int) []byte { return fmt.Appendf(nil, `{"user":"u","page":"a","ts":%d}`, millis) }
	records := []Record{
		{0, 1010, value(1010)},
		{1, 1200, []byte("{broken")},              // broken, and yet its timestamp counts
		{2, 1020, value(1149)},                    // late against the broken record's timestamp
		{3, 1210, value(1160)},                    // on time
		{4, 1220, value(1220)},                    // on time, turn 3
		{5, 1220, value(999)},                     // before the start
		{6, 1230, []byte(`{"user":"","ts":900}`)}, // broken before it is before the start
	}
	cuts := Cuts{2: {0: 3}, 3: {0: 5}}
	fates, events, err := c.judge(0, records, cuts, c.TurnEnds(3))
	if err != nil {
		t.Fatal(err)
	}
	want := []Fate{Accepted, DeadLettered, Late, Overtaken, Accepted, BeforeStart, DeadLettered}
	for i, f := range fates {
		if f.Fate != want[i] {
			t.Errorf("record %d is %s, want %s", i, f.Fate, want[i])
		}
	}
	if len(events) != 2 {
		t.Errorf("%d events were accepted, want 2", len(events))
	}
}
