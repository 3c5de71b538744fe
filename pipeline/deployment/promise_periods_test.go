package deployment_test

import (
	"math"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// A window is moved by what a user did in all the periods that it reaches into, and each of them
// paid for its own part: over several periods the loss is not their sum. Here one user of two
// periods, with all that the bounds allow in windows of two periods, against the exact curve of
// what can be seen, and, where keys are private, a key of this user alone.
func TestRuleWindowsOverSeveralPeriodsAreInThePromiseOverThem(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	gaussian := func(mu, epsilon float64) float64 {
		return phi(-epsilon/mu+mu/2) - math.Exp(epsilon)*phi(-epsilon/mu-mu/2)
	}
	// of windows and periods that begin apart
	for slide, want := range map[time.Duration]int{time.Hour: 1, time.Hour / 2: 2, 2 * time.Hour: 1} {
		cfg := deploytest.Config("localhost:1")
		cfg.Metrics[0].Window, cfg.Metrics[0].Slide, cfg.Privacy.Period, cfg.Privacy.Lasts = max(slide, time.Hour),
			slide, max(slide, time.Hour), 0
		d := must.Have(deployment.Compile(cfg))
		if got := deployment.PeriodsInAWindow(d); got != want {
			t.Errorf("windows every %v reach into %d periods, want %d", slide, got, want)
		}
	}
	for _, private := range []bool{false, true} {
		for _, kind := range []string{metrickind.Events, metrickind.DistinctUsers} {
			for _, periods := range []int{1, 2} {
				cfg := deploytest.Config("localhost:1")
				m := &cfg.Metrics[0]
				m.Kind, m.MaxKeysPerUser, m.MaxEventsPerKey, m.Burst, m.Target.Relative = kind, 1, 3, 1, 0
				if kind == metrickind.DistinctUsers {
					m.MaxEventsPerKey = 1
				}
				if private {
					m.Keys = deployment.Keys{Mode: deployment.KeysPrivate}
				}
				cfg.Privacy.Epsilon, cfg.Privacy.Period, cfg.Privacy.Lasts = 3, m.Window/time.Duration(periods), 0
				deploytest.PayFor(t, &cfg, 1)
				d := must.Have(deployment.Compile(cfg))
				if got := deployment.PeriodsInAWindow(d); got != periods {
					t.Fatalf("a window reaches into %d periods, want %d", got, periods)
				}
				promise, ok := deployment.OverPeriods(d, 2)
				if !ok {
					t.Fatal("nothing is promised over two periods")
				}
				// The releases of two periods: two windows, or one with both in it.
				spec := &d.Metrics[0].Spec
				c, shows := float64(spec.MaxEventsPerKey), 2/float64(periods)
				if kind == metrickind.Events {
					c *= float64(periods)
				}
				mu := c * math.Sqrt(spec.Top.Float()*shows)
				delta, keys := gaussian(mu, promise.Epsilon), 0.0
				if private {
					over := d.Metrics[0].Plan.Threshold() - c
					keys = min(1, shows*phi(-over*math.Sqrt(spec.First.Float())))
					delta = keys + (1-keys)*delta
				}
				if delta > promise.Delta*(1+1e-9) { // the formula under test is computed in float64
					t.Errorf("%s, private %t, %d periods in a window: (%v, %v) is promised, and δ is %v", kind, private,
						periods, promise.Epsilon, promise.Delta, delta)
				}
				if periods == 1 || kind != metrickind.Events {
					continue
				}
				// The promise that follows if the amounts of both periods are added does not hold.
				b := d.Budget
				sum, err := budgets.ConvertDeltaMu(2*(b.Delta-b.Keys.Float()), b.Mu2.Mu()*math.Sqrt2, b.Accountant)
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

// A choice of bounds is paid once, however many periods there are. The promise over all periods
// depends on the planned share, lies between the promise of the rest and the promise of the whole,
// and is the sum of the costs of the choice and the periods.
func TestRuleAChoiceIsPaidOnceOverAllPeriods(t *testing.T) {
	promise := func(planned float64, n int) (deployment.PeriodsPromise, *deployment.Deployment) {
		cfg := deploytest.Config("localhost:1")
		cfg.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPrivate}
		cfg.Privacy.Period, cfg.Privacy.Lasts, cfg.Privacy.Planned = cfg.Metrics[0].Window, 0, planned
		d := must.Have(deployment.Compile(cfg))
		p, ok := deployment.OverPeriods(d, n)
		if !ok {
			t.Fatalf("nothing is promised over %d periods", n)
		}
		return p, d
	}
	for _, n := range []int{1, 12, 52} {
		last, _ := promise(0, n)
		for _, planned := range []float64{.05, .5, .95} {
			p, d := promise(planned, n)
			if n > 1 && !(p.Epsilon < last.Epsilon && p.Delta < last.Delta) || n == 1 &&
				(p.Epsilon < last.Epsilon*(1-1e-6) || p.Epsilon > last.Epsilon*(1+1e-6)) {
				t.Errorf("%d periods, %v planned: (%v, %v), with less planned (%v, %v)", n, planned, p.Epsilon, p.Delta,
					last.Epsilon, last.Delta)
			}
			last = p
			b := d.Budget
			total := uint64(n)*uint64(b.Mu2) + uint64(b.Planned.Mu2)
			want, err := budgets.ConvertDeltaMu(float64(n)*(b.Delta-b.Whole().Keys.Float()), units.Mu2(total).Mu(),
				b.Accountant)
			if err != nil || math.Abs(p.Epsilon/want.Epsilon-1) > 1e-9 {
				t.Errorf("%d periods, %v planned: ε %v, the amounts come to %v (%v)", n, planned, p.Epsilon,
					want.Epsilon, err)
			}
			keys := float64(n)*b.Keys.Float() + b.Planned.Keys.Float()
			if got := p.Delta - float64(n)*(b.Delta-b.Whole().Keys.Float()); math.Abs(got/keys-1) > 1e-6 {
				t.Errorf("%d periods, %v planned: δ of keys %v, want %v", n, planned, got, keys)
			}
		}
	}
}

// The factor for a key of one user holds for every contribution up to the most, whether or not
// the promise that follows is worth stating.
func TestTheFactorOfAUsersOwnKeyHoldsForEveryContribution(t *testing.T) {
	for _, epsilon := range []float64{2, 10, 40} {
		cfg := deploytest.Config("localhost:1")
		m := &cfg.Metrics[0]
		m.MaxKeysPerUser, m.MaxEventsPerKey, m.Burst, m.Target.Relative, m.Target.Absolute = 0, 0, 1, 0, 40
		m.Keys = deployment.Keys{Mode: deployment.KeysPrivate}
		cfg.Privacy.Epsilon, cfg.Privacy.Period, cfg.Privacy.Lasts = epsilon, m.Window/30, 0
		d := must.Have(deployment.Compile(cfg))
		spec, stated := &d.Metrics[0].Spec, deployment.KeysAcross(d, 30)
		for parts := 2.0; parts <= 30; parts++ {
			for c := 1.0; c <= float64(spec.Most()); c++ {
				passes := math.Erfc((d.Metrics[0].Plan.Threshold()-parts*c)*math.Sqrt(spec.First.Float()/2)) / 2
				if factor := passes / (parts * c * c * spec.DeltaKey.Float()); factor > stated {
					t.Fatalf("ε %v: %v in each of %v periods pass with %v times what they pay, stated is %v", epsilon,
						c, parts, factor, stated)
				}
			}
		}
	}
}
