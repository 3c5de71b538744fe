package pipeline

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// A window is moved by what a user did in all the periods that it reaches into, and each
// of them paid for its own part: over several periods the loss is not their sum. Here one
// user of two periods, with all that the bounds allow in windows of two periods, against
// the exact curve of what can be seen, and, where keys are private, a key of this user
// alone.
func TestRuleWindowsOverSeveralPeriodsAreInThePromiseOverThem(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	gaussian := func(mu, epsilon float64) float64 {
		return phi(-epsilon/mu+mu/2) - math.Exp(epsilon)*phi(-epsilon/mu-mu/2)
	}
	for _, private := range []bool{false, true} {
		for _, kind := range []string{schemas.KindEvents, schemas.KindDistinctUsers} {
			for _, periods := range []int{1, 2} {
				cfg := testConfig("localhost:1")
				m := &cfg.Metrics[0]
				m.Kind, m.MaxKeysPerUser, m.MaxEventsPerKey, m.LastAtLeast = kind, 1, 3, 1
				if kind == schemas.KindDistinctUsers {
					m.MaxEventsPerKey = 1
				}
				if private {
					m.Keys = Keys{Mode: KeysPrivate}
				}
				cfg.Privacy.Epsilon, cfg.Privacy.Period = 3, m.Window/time.Duration(periods)
				d, err := Compile(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if got := PeriodsInAWindow(d); got != periods {
					t.Fatalf("a window reaches into %d periods, want %d", got, periods)
				}
				promise, ok := OverPeriods(d, 2)
				if !ok {
					t.Fatal("nothing is promised over two periods")
				}
				// What two periods show: two windows, or one with both in it.
				spec := &d.Metrics[0].Spec
				c, shows := float64(spec.MaxEventsPerKey), 2/float64(periods)
				if kind == schemas.KindEvents {
					c *= float64(periods)
				}
				mu := c * math.Sqrt(spec.Top.Float()*shows)
				delta, keys := gaussian(mu, promise.Epsilon), 0.0
				if private {
					over := d.Metrics[0].Plan.Threshold() - c
					keys = min(1, shows*phi(-over*math.Sqrt(spec.First.Float())))
					delta = keys + (1-keys)*delta
				}
				if delta > promise.Delta*(1+1e-9) { // what is in doubt here is computed in float64
					t.Errorf("%s, private %t, %d periods in a window: (%v, %v) is promised, and δ is %v", kind, private, periods, promise.Epsilon, promise.Delta, delta)
				}
				if periods == 1 || kind != schemas.KindEvents {
					continue
				}
				// What would be promised if the amounts of both periods added does not hold.
				b := d.Budget
				sum, err := state.ConvertDeltaMu(2*(b.Delta-b.Keys.Float()), b.Mu2.Mu()*math.Sqrt2, b.Accountant)
				if err != nil {
					t.Fatal(err)
				}
				if got := gaussian(mu, sum.Epsilon); got < 100*2*b.Delta {
					t.Errorf("private %t: the sum of two budgets would do: δ is %v", private, got)
				}
				if private && keys < 2*2*b.Keys.Float() {
					t.Errorf("the sum of both δ_keys would do: the key shows with probability %v", keys)
				}
			}
		}
	}
}

func TestPeriodsInAWindowAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slide := rapid.Int64Range(1, 12).Draw(t, "slide")
		m := schemas.MetricSpec{WindowSlide: slide, WindowSize: slide * rapid.Int64Range(1, 6).Draw(t, "slides")}
		period := rapid.Int64Range(1, 40).Draw(t, "period")
		d := Deployment{Config: Config{Privacy: Privacy{Period: time.Duration(period) * time.Millisecond}}}
		most := 0
		for begin := int64(0); begin < slide*period; begin += slide {
			last := begin + m.WindowSize - 1
			most = max(most, int(last/period-begin/period)+1)
		}
		if got := reaches(&d, &m); got != most {
			t.Fatalf("windows of %d every %d reach into %d periods of %d, want %d", m.WindowSize, slide, got, period, most)
		}
	})
}
