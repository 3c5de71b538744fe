package deployment_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func hourly(name string) deployment.Metric {
	return deployment.Metric{
		Name: name, Window: time.Hour, Keys: deployment.Keys{Mode: deployment.KeysPublic, List: []string{"a"}},
		Target: noisereduction.Target{Absolute: 100, Confidence: 0.95},
	}
}

// compile compiles metrics that may use values, with a budget for life that lasts for a day.
func compile(metrics ...deployment.Metric) (*deployment.Deployment, error) {
	cfg := deploytest.Config("localhost:1")
	cfg.Metrics, cfg.Privacy.Lasts = metrics, 24*time.Hour
	cfg.Events.Format.Value = "value"
	return deployment.Compile(cfg)
}

// partOf returns the part of an amount that a share is, rounded down.
func partOf(whole units.Mu2, share *big.Rat) units.Mu2 {
	v := new(big.Rat).Mul(share, new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(whole))))
	return units.Mu2(new(big.Int).Quo(v.Num(), v.Denom()).Uint64())
}

// A metric's burst and refill, with its share of counted events, are its part of an account to the
// unit, and the parts of all metrics are at most the account. The part of counted pays for the
// worst case of every window.
func TestRuleAllowancesAreSharesOfTheAccount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var metrics []deployment.Metric
		n := rapid.IntRange(1, 3).Draw(t, "metrics")
		shares := make([]*big.Rat, n)
		for i := range n {
			m := hourly(fmt.Sprint("m", i))
			if shares[i] = big.NewRat(1, int64(n)); rapid.Bool().Draw(t, "has a share") {
				m.Share = rapid.Float64Range(0.2, 1/float64(n)).Draw(t, "share")
				shares[i].SetFloat64(m.Share)
			}
			if rapid.Bool().Draw(t, "has a burst") {
				m.Burst = rapid.Float64Range(0.1, 1).Draw(t, "burst")
			}
			if rapid.Bool().Draw(t, "counted") {
				m.Counted = &deployment.Counted{Share: rapid.Float64Range(0.01, 0.5).Draw(t, "share of it"),
					MaxEvents: rapid.IntRange(0, 100).Draw(t, "most events")}
			}
			metrics = append(metrics, m)
		}
		d := must.Have(compile(metrics...))
		var sum units.Mu2
		all := d.Metrics
		for i := range metrics {
			m, spec := &d.Config.Metrics[i], &all[0].Spec
			whole := partOf(d.Budget.Mu2, shares[i])
			rest := whole
			if all = all[1:]; m.Counted != nil {
				counted := &all[0].Spec
				all = all[1:]
				if want := partOf(whole, new(big.Rat).SetFloat64(m.Counted.Share)); counted.Kind !=
					metrickind.Counted || counted.Burst != want || counted.Refill != 0 ||
					counted.Horizon != spec.Horizon {
					t.Fatalf("counted of %s has %+v, want a burst of %d", m.Name, counted.Allowance(), want)
				}
				if price, ok := units.Charge(uint64(counted.MaxEventsPerKey), counted.Top); !ok ||
					24*(price+1) > counted.Burst || counted.MaxEventsPerKey == 0 {
					t.Fatalf("24 windows of %d events at %d do not fit %d", counted.MaxEventsPerKey, price,
						counted.Burst)
				}
				rest -= counted.Burst
			}
			if burst := partOf(rest, new(big.Rat).SetFloat64(m.Burst)); spec.Burst != burst || spec.Burst+
				spec.Refill != rest || spec.Horizon != (24*time.Hour).Milliseconds() {
				t.Fatalf("%s has %+v, want a burst of %d and %d in all", m.Name, spec.Allowance(), burst, rest)
			}
			sum += whole
		}
		if sum > d.Budget.Mu2 {
			t.Fatalf("the metrics have %d of %d", sum, d.Budget.Mu2)
		}
	})
	for _, test := range []struct {
		first, second float64
		fits          bool
		// 0.1 and 0.9 are a little more than 1 as binary fractions
	}{{0.7, 0.4, false}, {0.1, 0.9, true}, {0.1, 0.9000000000000001, false}} {
		a, b := hourly("a"), hourly("b")
		a.Share, b.Share = test.first, test.second
		if _, err := compile(a, b); (err == nil) != test.fits {
			t.Errorf("shares of %v and %v: %v", test.first, test.second, err)
		}
	}
}

// The top is the least precision that meets the least noise: absolute in counts and sums, noise
// elsewhere. If nothing can stop earlier it is the first rung, too.
func TestTheLeastNoiseIsTheTopOfTheLadder(t *testing.T) {
	sum, mean, private := hourly("m"), meanFrom(0, 100, 1), hourly("m")
	sum.Kind, sum.Max, sum.Target.Relative = metrickind.Sum, 100, 0.1
	private.Keys, private.Target.Relative = deployment.Keys{Mode: deployment.KeysPrivate}, 0.1
	for name, test := range map[string]struct {
		m     deployment.Metric
		noise float64
		first float64 // as a part of the top
	}{
		"events": {hourly("m"), 100, 1}, "a sum": {sum, 100, 0x1p-24}, "private keys": {private, 100, 0.25},
		"a mean": {mean, 20, 0x1p-24},
	} {
		d, err := compile(test.m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		spec := &d.Metrics[0].Spec
		// beside a relative target, a rung stops for the absolute one a little later
		if got := 1.959963984540054 / math.Sqrt(spec.Top.Float()); got > test.noise || got < 0.93*test.noise {
			t.Errorf("%s: the least noise is %v, want %v", name, got, test.noise)
		}
		if got := spec.First.Float() / spec.Top.Float(); math.Abs(got/test.first-1) > 1e-6 {
			t.Errorf("%s: the first rung has %v of the top, want %v", name, got, test.first)
		}
	}
}

// Bounds clip what one user can burn. The noise of a metric is as it was asked for, whatever they
// are.
func TestRuleBoundsDoNotChangeTheNoise(t *testing.T) {
	ladder := func(kind string, low, high int64, keys, events int) (deviations []float64) {
		m := hourly("m")
		m.Kind, m.Min, m.Max, m.MaxKeysPerUser, m.MaxEventsPerKey = kind, low, high, keys, events
		d := must.Have(compile(m))
		for _, u := range d.Metrics[0].Plan.Ladder() {
			deviations = append(deviations, u.Float())
		}
		return deviations
	}
	want := ladder(metrickind.Events, 0, 0, 1, 1)
	for what, got := range map[string][]float64{
		"other bounds": ladder(metrickind.Events, 0, 0, 3, 5), "values": ladder(metrickind.Sum, -5, 15, 1, 1),
		"other values": ladder(metrickind.Sum, -40, 30, 2, 3),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("with %s the ladder is %v, not %v", what, got, want)
		}
	}
}

// Trusting producers' clocks weakens the promise: no deployment does so without asking for it.
func TestRuleProducerTimesAreAnExplicitChoice(t *testing.T) {
	cfg := deploytest.Config("localhost:1")
	cfg.Time.Trust = ""
	d, err := deployment.Compile(cfg)
	if err != nil || d.Config.Time.Trust != deployment.TrustBroker || d.Config.Time.Slack == 0 {
		t.Errorf("by default the times of %q are trusted, with a slack of %v (%v)", d.Config.Time.Trust,
			d.Config.Time.Slack, err)
	}
}
