package deployment_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// capAt is a metric with an explicit cap, one key and one event a user.
func capAt(name string, sigma float64, lastAtLeast int) deployment.Metric {
	return deployment.Metric{
		Name: name, Window: time.Hour, Keys: deployment.Keys{Mode: deployment.KeysPublic, List: []string{"a"}},
		Ladder: deployment.Ladder{Sigma: sigma}, Target: noisereduction.Target{Relative: 0.1, Confidence: 0.95}, LastAtLeast: lastAtLeast,
	}
}

func compiled(t testing.TB, metrics ...deployment.Metric) *deployment.Deployment {
	t.Helper()
	cfg := deploytest.Config("localhost:1")
	cfg.Metrics = metrics
	d, err := deployment.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// (1, 10⁻⁶) pays for 89 releases at σ = 40: budgets.ReleasesBeforeRefusal, which
// `tollgate budget releases` prints.
func TestRuleSplitSaysHowLongAnExplicitCapLasts(t *testing.T) {
	wide := capAt("m", 40, 100_000)
	wide.MaxKeysPerUser, wide.MaxEventsPerKey = 2, 3 // a window costs 18 times as much
	never := capAt("m", 40, 10)
	never.MaxEventsPerKey = 10
	private := capAt("m", 400, 30)
	private.Keys = deployment.Keys{Mode: deployment.KeysPrivate}
	shared := capAt("shared", 0, 24)
	for name, test := range map[string]struct {
		metrics []deployment.Metric
		want    []deployment.Lifetime
		fits    bool
	}{
		"more than there is":     {[]deployment.Metric{capAt("m", 40, 100_000)}, []deployment.Lifetime{{Windows: 89}}, false},
		"less than there is":     {[]deployment.Metric{capAt("m", 40, 12)}, []deployment.Lifetime{{Windows: 12}}, true},
		"nothing asked for":      {[]deployment.Metric{capAt("m", 40, 0)}, []deployment.Lifetime{{Windows: 89}}, true},
		"all there is":           {[]deployment.Metric{capAt("m", 40, 89)}, []deployment.Lifetime{{Windows: 89}}, true},
		"one more than there is": {[]deployment.Metric{capAt("m", 40, 90)}, []deployment.Lifetime{{Windows: 89}}, false},
		"bounds":                 {[]deployment.Metric{wide}, []deployment.Lifetime{{Windows: 4}}, false},
		"not one":                {[]deployment.Metric{never}, []deployment.Lifetime{{Windows: 0}}, false},
		"private keys":           {[]deployment.Metric{private}, []deployment.Lifetime{{Windows: 30}}, true},
		"a cap beside shares":    {[]deployment.Metric{capAt("m", 40, 12), shared}, []deployment.Lifetime{{Windows: 12, UpTo: true}, {Windows: 24}}, true},
		"two caps":               {[]deployment.Metric{capAt("m", 40, 60), capAt("n", 40, 100)}, []deployment.Lifetime{{Windows: 60, UpTo: true}, {Windows: 89, UpTo: true}}, false},
		"shares":                 {[]deployment.Metric{shared}, []deployment.Lifetime{{Windows: 24}}, true},
	} {
		d := compiled(t, test.metrics...)
		if got := deployment.Lifetimes(d); !slices.Equal(got, test.want) || deployment.LastAtLeastFits(d) != test.fits {
			t.Errorf("%s: %+v, fits %t, want %+v, %t", name, got, deployment.LastAtLeastFits(d), test.want, test.fits)
		}
	}
	budget := compiled(t, capAt("m", 40, 0)).Budget
	if n, err := budgets.ReleasesBeforeRefusal(budget, 40, 1); err != nil || n != 89 {
		t.Errorf("the budget pays for %d releases (%v), want 89", n, err)
	}
}

// An account that starts empty and is charged the worst case of a metric's
// windows, one after the other, takes just as many as Lifetimes says, or all
// that last_at_least asks for. Metrics that share the budget always have all.
func TestSplitLeavesAsManyWindowsAsItSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := deploytest.Config("localhost:1")
		cfg.Metrics = nil
		shares := false
		for i := range rapid.IntRange(1, 3).Draw(rt, "metrics") {
			m := capAt(fmt.Sprint("m", i), 0, rapid.IntRange(1, 40).Draw(rt, "last at least"))
			m.MaxKeysPerUser, m.MaxEventsPerKey = rapid.IntRange(1, 3).Draw(rt, "keys"), rapid.IntRange(1, 3).Draw(rt, "events")
			if rapid.Bool().Draw(rt, "private") {
				m.Keys = deployment.Keys{Mode: deployment.KeysPrivate}
			}
			if rapid.Bool().Draw(rt, "cap") {
				m.Ladder.Sigma = rapid.Float64Range(30, 1000).Draw(rt, "sigma")
			}
			shares = shares || m.Ladder.Sigma == 0
			cfg.Metrics = append(cfg.Metrics, m)
		}
		d, err := deployment.Compile(cfg)
		if err != nil {
			return // refused: nothing is said about it
		}
		if shares && !deployment.LastAtLeastFits(d) {
			rt.Error("what is shared does not fit")
		}
		lifetimes := deployment.Lifetimes(d)
		if len(lifetimes) != len(d.Metrics) {
			rt.Fatalf("%d lifetimes of %d metrics", len(lifetimes), len(d.Metrics))
		}
		for i := range cfg.Metrics {
			m, l := &cfg.Metrics[i], lifetimes[i]
			taken := admitted(d.Budget, m, &d.Metrics[i].Spec)
			if want := min(taken, uint64(m.LastAtLeast)); l.Windows != want {
				rt.Errorf("%s: %d windows, want %d", m.Name, l.Windows, want)
			}
			if m.Ladder.Sigma == 0 && (l.Windows != uint64(m.LastAtLeast) || l.UpTo) {
				rt.Errorf("%s shares the budget and lasts %+v, asked for %d", m.Name, l, m.LastAtLeast)
			}
			if want := m.Ladder.Sigma > 0 && len(cfg.Metrics) > 1; l.UpTo != want {
				rt.Errorf("%s: up to is %t", m.Name, l.UpTo)
			}
		}
	})
}

// admitted is in how many of the windows that were asked for a user is who uses
// the bounds to the full and pays the top each time, by the rule of admission.
func admitted(b budgets.Budget, m *deployment.Metric, spec *schemas.MetricSpec) uint64 {
	var spent units.Mu2
	var spentKeys units.Delta
	for n := range uint64(m.LastAtLeast) {
		for range m.MaxKeysPerUser {
			charge, ok := units.Charge(uint64(m.MaxEventsPerKey), spec.Top)
			if ok {
				spent, ok = spent.Add(charge)
			}
			if m.Keys.Mode == deployment.KeysPrivate && ok {
				spentKeys, ok = spentKeys.Add(spec.DeltaKey)
			}
			if !ok {
				return n
			}
		}
		if spent > b.Mu2 || spentKeys.Cmp(b.Keys) > 0 {
			return n
		}
	}
	return uint64(m.LastAtLeast)
}

// What an error proposes compiles: the number of windows, the σ of a cap, the σ of a first rung.
func TestWhatAnErrorOfTheBudgetProposesCompiles(t *testing.T) {
	private := func(change func(m *deployment.Metric)) deployment.Metric {
		m := capAt("m", 0, 24)
		m.Keys = deployment.Keys{Mode: deployment.KeysPrivate}
		change(&m)
		return m
	}
	proposal := regexp.MustCompile(`(last_at_least|ladder\.sigma|first_sigma):? ([0-9.e+]+)`)
	for name, m := range map[string]deployment.Metric{
		"windows":      private(func(m *deployment.Metric) { m.LastAtLeast = 1e15 }),
		"δ":            private(func(m *deployment.Metric) { m.LastAtLeast, m.MaxKeysPerUser = 1e9, 1<<30 }),
		"cap":          capAt("m", 0.001, 0),
		"first rung":   private(func(m *deployment.Metric) { m.Ladder.FirstSigma = 0.5 }),
		"expected max": {Name: "m", Window: time.Hour, Keys: deployment.Keys{List: []string{"a"}, Mode: deployment.KeysPublic}, Target: noisereduction.Target{Relative: 0.1, Confidence: 0.95}, LastAtLeast: 24, Ladder: deployment.Ladder{ExpectedMax: 1}},
	} {
		cfg := deploytest.Config("localhost:1")
		cfg.Metrics = []deployment.Metric{m}
		_, err := deployment.Compile(cfg)
		var bad *deployment.ConfigError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := proposal.FindAllStringSubmatch(bad.Reason, -1)
		if len(all) == 0 {
			t.Errorf("%s: nothing is proposed: %v", name, err)
			continue
		}
		found := all[len(all)-1]
		value, err := strconv.ParseFloat(strings.TrimSuffix(found[2], "."), 64)
		if err != nil {
			t.Fatal(err)
		}
		switch found[1] {
		case "last_at_least":
			cfg.Metrics[0].LastAtLeast = int(value)
		case "ladder.sigma":
			cfg.Metrics[0].Ladder.Sigma = value
		case "first_sigma":
			cfg.Metrics[0].Ladder.FirstSigma = value
		}
		if _, err := deployment.Compile(cfg); err != nil {
			t.Errorf("%s: %s, and then: %v", name, bad.Reason, err)
		}
	}
}
