package watch

import (
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Every reason for lost records has a level: none for few records, some from one in a hundred, most
// from half; and the level falls when the records are good again.
func TestRuleEveryLossHasALevel(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	read := func(n uint64) schemas.ReadTallies { return schemas.ReadTallies{Read: n, Accepted: n} }
	for name, lose := range map[string]func(f *Outcomes, n uint64){
		"late":         func(f *Outcomes, n uint64) { f.AddRead(schemas.ReadTallies{Late: n}) },
		"future":       func(f *Outcomes, n uint64) { f.AddRead(schemas.ReadTallies{Future: n}) },
		"before_start": func(f *Outcomes, n uint64) { f.AddRead(schemas.ReadTallies{BeforeStart: n}) },
		"overtaken":    func(f *Outcomes, n uint64) { f.AddRead(schemas.ReadTallies{Overtaken: n}) },
		"dead_lettered": func(f *Outcomes, n uint64) {
			f.AddRead(schemas.ReadTallies{DeadLettered: map[string]uint64{"a": n / 2, "b": n - n/2}})
		},
		"beyond_allowance": func(f *Outcomes, n uint64) {
			f.add(new(OutcomesOf(nil, []schemas.MetricTally{{WindowTally: schemas.WindowTally{Beyond: n}}})))
		},
	} {
		for _, c := range []struct {
			good, lost uint64
			want       Level
		}{{0, 9, LostNone}, {2000, 15, LostNone}, {1000, 9, LostNone}, {1000, 11, LostSome}, {30, 30, LostSome},
			{30, 31, LostMost}} {
			l := NewLosses(&deployment.Deployment{}, slog.New(slog.DiscardHandler))
			f := OutcomesOf(nil, []schemas.MetricTally{{WindowTally: schemas.WindowTally{Counted: c.good}}})
			f.AddRead(read(c.good))
			lose(&f, c.lost)
			l.Observe(noon, &f)
			want := map[string]Level{"late": 0, "future": 0, "before_start": 0, "overtaken": 0, "dead_lettered": 0,
				"beyond_allowance": 0}
			want[name] = c.want
			if got := l.Levels(noon.Add(time.Second)); !maps.Equal(got, want) {
				t.Errorf("%s: %d of %d are lost: %v", name, c.lost, c.good+c.lost, got)
			}
			if got := l.Totals(); got.Lost[name] != c.lost {
				t.Errorf("%s: the totals are %+v, want %d", name, got, c.lost)
			}
			good := OutcomesOf(nil, []schemas.MetricTally{{WindowTally: schemas.WindowTally{Counted: 100}}})
			good.AddRead(read(100))
			l.Observe(noon.Add(2*time.Hour), &good)
			if got := l.Levels(noon.Add(2 * time.Hour)); got[name] != LostNone {
				t.Errorf("%s: the level does not fall: %v", name, got)
			}
		}
	}
}

// Dead letters have a level from ten records, even if they are fewer than one in a hundred.
func TestRuleALevelOfDeadLettersIsOfTenRecords(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		good, dead uint64
		want       DeadLevel
	}{{0, 0, DeadNone}, {0, 9, DeadNone}, {5000, 9, DeadNone}, {5000, 10, DeadFew}, {991, 10, DeadFew},
		{990, 10, DeadSome}, {10, 10, DeadSome}, {10, 11, DeadMost}} {
		l := NewLosses(&deployment.Deployment{}, slog.New(slog.DiscardHandler))
		f := Outcomes{}
		f.AddRead(schemas.ReadTallies{Accepted: c.good, DeadLettered: map[string]uint64{"a": c.dead}})
		l.Observe(noon, &f)
		if got := l.DeadLetters(noon.Add(time.Minute)); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.dead, c.good+c.dead, got, c.want)
		}
		if got := l.DeadLetters(noon.Add(2 * time.Hour)); got != DeadNone {
			t.Errorf("two hours later: %s", got)
		}
	}
}

// Records beyond the allowance count once for each window of a metric. A few records in many
// windows are fewer than ten records and have no level.
func TestRuleALevelIsOfTenRecordsHoweverManyWindowsTheyAreIn(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	metrics := []deployment.Metric{{Window: 10 * time.Minute, Slide: time.Minute},
		{Window: time.Hour, Slide: time.Hour}}
	for records, want := range map[uint64]Level{1: LostNone, 9: LostNone, 10: LostMost} {
		l := NewLosses(&deployment.Deployment{Config: deployment.Config{Metrics: metrics}},
			slog.New(slog.DiscardHandler))
		f := OutcomesOf(nil, []schemas.MetricTally{{WindowTally: schemas.WindowTally{Beyond: 10 * records}},
			{WindowTally: schemas.WindowTally{Beyond: records}}})
		l.Observe(noon, &f)
		if got := l.Levels(noon)["beyond_allowance"]; got != want {
			t.Errorf("%d records in 11 windows each are beyond the allowance: level %d, want %d", records, got, want)
		}
	}
}

// Whether users can pay is known when a turn is settled: until the next one, the level stays.
func TestABudgetsLevelStaysUntilTheNextTurn(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := NewLosses(&deployment.Deployment{}, slog.New(slog.DiscardHandler))
	for i, counted := range []uint64{0, 1000} {
		settled := noon.Add(time.Duration(i) * 24 * time.Hour)
		f := OutcomesOf(nil, []schemas.MetricTally{{WindowTally: schemas.WindowTally{Beyond: 10, Counted: counted}}})
		l.Observe(settled, &f)
		for now := settled; now.Before(settled.Add(23 * time.Hour)); now = now.Add(10 * time.Minute) {
			f := Outcomes{}
			f.AddRead(schemas.ReadTallies{Accepted: 100})
			l.Observe(now, &f)
		}
		if got, want := l.Levels(settled.Add(23 * time.Hour))["beyond_allowance"],
			[]Level{LostMost, LostNone}[i]; got != want {
			t.Errorf("turn %d: level %d, want %d", i+1, got, want)
		}
	}
}
