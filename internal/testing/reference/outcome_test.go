package reference

import (
	"testing"
)

func TestFateFollowsTheRecordsOwnTimes(t *testing.T) {
	c := Config{Start: 1000, Lateness: 50, Skew: 20, Slack: 30}
	for _, k := range []struct {
		name                     string
		millis, stamped, largest int64
		want                     Outcome
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
		if got := c.outcome(k.millis, k.stamped, k.largest); got != k.want {
			t.Errorf("%s: %s, want %s", k.name, got, k.want)
		}
	}
	c.NoFuture = true
	if got := c.outcome(1<<40, 2000, 2000); got != Accepted {
		t.Errorf("with the test for the future off a record of the far future is %s", got)
	}
}

func TestAStampBeyondTheClockMovesNothing(t *testing.T) {
	c := testConfig(testMetric("m", "public", 100))
	c.Start, c.NoFuture, c.Skew, c.Clock = 1000, false, 10, 2000
	value := func(millis int64) []byte { return seen("u", "a", millis).record() }
	records := []Record{{0, 1010, value(1010)}, {1, 2011, value(1020)}, {2, 9999, value(999)}, {3, 1030, value(1030)}, {4, 2010, value(2010)}}
	outcomes, _, err := judge([]Config{c}, 0, records, nil, c.TurnEnds(3))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Outcome{Accepted, Future, BeforeStart, Accepted, Accepted} {
		if outcomes[i].Outcome != want {
			t.Errorf("record %d is %s, want %s", i, outcomes[i].Outcome, want)
		}
	}
}

func TestJudgeKeepsTheOrderOfTheTests(t *testing.T) {
	c := testConfig(testMetric("m", "public", 100))
	c.Start, c.Lateness = 1000, 50
	value := func(millis int64) []byte { return seen("u", "a", millis).record() }
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
	outcomes, events, err := judge([]Config{c}, 0, records, cuts, c.TurnEnds(3))
	if err != nil {
		t.Fatal(err)
	}
	want := []Outcome{Accepted, DeadLettered, Late, Overtaken, Accepted, BeforeStart, DeadLettered}
	for i, f := range outcomes {
		if f.Outcome != want[i] {
			t.Errorf("record %d is %s, want %s", i, f.Outcome, want[i])
		}
	}
	if len(events) != 2 {
		t.Errorf("%d events were accepted, want 2", len(events))
	}
}
