package reference

import (
	"math/big"
	"reflect"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Hand-computed cases follow one path of outputs: releases stop where the case says, at a precision
// that costs an individual who contributed 1 so many account units. What does not stand in the case
// is not released and costs 1 unit.
type outcome struct {
	units    int64
	released bool
}

func script(outcomes map[string]outcome) func(int, window, string) stop {
	return func(_ int, _ window, key string) stop {
		o, there := outcomes[key]
		if !there {
			o.units = 1
		}
		return stop{precision: costing(o.units).Big(), passed: o.released, rungs: 1}
	}
}

// everything stops at a precision of so many units.
func everythingAt(n int64) func(int, window, string) stop {
	return func(int, window, string) stop { return stop{precision: costing(n).Big(), passed: true, rungs: 1} }
}

// kind makes a metric of another kind out of an event count; its ladder ends at 1 unit.
func kind(m schemas.MetricSpec, kind string) schemas.MetricSpec {
	m.Kind, m.First, m.Top = kind, costing(1), costing(1)
	return m
}

func sum(m schemas.MetricSpec, low, high int64) schemas.MetricSpec {
	m = kind(m, "sum")
	m.Min, m.Max = low, high
	m.Relative, m.Absolute = 0, 1
	return m
}

// from makes a metric take the keys of another one.
func from(m schemas.MetricSpec, base string) schemas.MetricSpec {
	m.KeyMode, m.KeysFrom, m.PublicKeys, m.DeltaKey = "from", base, nil, units.Delta{}
	return m
}

// further returns the further components of a metric.
func further(of schemas.MetricSpec) (all []schemas.MetricSpec) {
	for _, kind := range components(of.Kind) {
		m := from(of, of.Name)
		m.Name, m.Kind, m.Of, m.Absolute = of.Name+"."+kind, kind, of.Name, 0
		all = append(all, m)
	}
	return all
}

// coverage returns the metric that stands after another one.
func coverage(of schemas.MetricSpec) schemas.MetricSpec {
	m := testMetric(of.Name+".coverage", "public", of.WindowSize)
	m.Kind, m.Of, m.WindowSlide, m.Period = "coverage", of.Name, of.WindowSlide, of.Period
	m.MaxKeysPerUser, m.MaxEventsPerKey, m.PublicKeys = 1, 1, [][]byte{{}}
	m.First, m.Top = costing(1), costing(1)
	return m
}

// share returns the share of another metric's events that is counted: of so many events of a user
// at most, and kept for so many windows.
func share(of schemas.MetricSpec, events uint32, windows int64) schemas.MetricSpec {
	m := testMetric(of.Name+".counted", "public", of.WindowSize)
	m.Kind, m.Of, m.Filter, m.WindowSlide, m.Period = "counted", of.Name, of.Filter, of.WindowSlide, of.Period
	m.MaxKeysPerUser, m.MaxEventsPerKey, m.Max = 2, events, windows
	m.PublicKeys = [][]byte{[]byte("counted"), []byte("left_out")}
	m.First, m.Top = costing(1), costing(1)
	return m
}

// inPeriods gives a configuration budget periods of so many milliseconds.
func inPeriods(c Config, millis int64, name string) Config {
	c.Period = millis
	for i := range c.Metrics {
		c.Metrics[i].Period = name
	}
	return c
}

// counts of one turn by metric and key.
func countsOf(out Output, turn uint64, metric int) map[string]int64 {
	counts := map[string]int64{}
	for _, d := range out.Draws {
		if d.Turn == turn && d.Metric == metric {
			counts[d.Key] = d.Count
		}
	}
	return counts
}

func wantCounts(t *testing.T, out Output, turn uint64, metric int, want map[string]int64) {
	t.Helper()
	if got := countsOf(out, turn, metric); !reflect.DeepEqual(got, want) {
		t.Errorf("turn %d, metric %d: counts are %v, want %v", turn, metric, got, want)
	}
}

// wantSpent compares all accounts, by user and period, in account units; δ is compared in keys of
// 2^50.
func wantSpent(t *testing.T, c Config, out Output, spent map[string]int64, keys map[string]int64) {
	t.Helper()
	found := 0
	for user := range spent {
		for period := int64(-1); period <= 3; period++ {
			account, there := out.Accounts[c.owner(user[:1], period)]
			if name := user[:1] + string(rune('0'+period)); name != user {
				continue
			}
			if !there {
				account = Account{new(big.Int), new(big.Int)}
			} else {
				found++
			}
			if account.Spent.Int64() != spent[user] {
				t.Errorf("%s has spent %v units, want %d", user, account.Spent, spent[user])
			}
			if want := new(big.Int).Lsh(big.NewInt(keys[user]), 50); account.Keys.Cmp(want) != 0 {
				t.Errorf("%s has spent %v units of δ, want those of %d keys", user, account.Keys, keys[user])
			}
		}
	}
	if found != len(out.Accounts) {
		t.Errorf("%d accounts are not zero, the case names %d of them", len(out.Accounts), found)
	}
}

func wantTallies(t *testing.T, out Output, want ...MetricTallies) {
	t.Helper()
	if !reflect.DeepEqual(out.Tallies.Metrics, want) {
		t.Errorf("tallies are\n%+v, want\n%+v", out.Tallies.Metrics, want)
	}
}
