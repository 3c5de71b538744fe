package spend

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// shared has a metric whose events cost 4 units for each squared, with a bucket of 16 units that is
// full again in the next turn, and its share at 1 unit, of 4 events at most. The budget is 50.
func shared() settings {
	m := publicMetric("m", "a", "b")
	m.MaxKeysPerUser = 1
	m.Burst, m.Refill, m.Horizon = 16, 160, 10*testTurn
	share := shareOf(&m, 4)
	share.First, share.Top, share.Burst = unit(1), unit(1), 0
	return deployment(50, m, share)
}

func TestRuleAShareCountsUsersWhomItsMetricRefuses(t *testing.T) {
	s := shared()
	a := mustAccounts(t, s, []contribution{
		{user: 0, key: "a", n: 2},                            // 16 units: all that the bucket has
		{user: 1, key: "a", n: 3},                            // two of three
		{user: 2, key: "a", n: 1}, {user: 2, key: "b", n: 1}, // one key of two
		{user: 3, key: "a", n: 9}, // beyond the share's bound
		{user: 4, key: "x", n: 9}, // no event of the metric
	})
	for user, want := range []units.Mu2{16 + 4, 16 + 4 + 1, 4 + 1 + 1, 16 + 1 + 9, 0} {
		if got := a.of(user).Reserved; got != want {
			t.Errorf("user %d: %d units are reserved, want %d", user, got, want)
		}
	}
	counts := a.counts(&a.decided[0])
	in, out := counts.keys[1][0], counts.keys[1][1]
	if in.Clamp(0, 1<<40) != 2+2+1+1 || out.Clamp(0, 1<<40) != 1+1+3 {
		t.Errorf("counted %v, left out %v", in, out)
	}
	if tally := a.decided[0].delta.Tallies[1]; tally != (schemas.WindowTally{Filtered: 9, Counted: 2 + 3 + 2 + 4, Beyond: 5}) {
		t.Errorf("the tally of the share is %+v", tally)
	}
}

// What a share costs is charged to the account that all metrics share: no window of any metric is
// admitted beyond the budget.
func TestRuleAShareIsPaidFromTheSameAccount(t *testing.T) {
	s := shared()
	a := mustAccounts(t, s, []contribution{{user: 1, key: "a", n: 4}})
	for turn := uint64(1); turn <= 9; turn++ {
		settled := schemas.Settled{First: turn, Turn: turn, FirstRungs: []units.Precision{unit(1), unit(1)}}
		for _, w := range s.windows(turn) {
			for _, k := range s.metrics[w.Metric].PublicKeys {
				settled.Keys = append(settled.Keys, schemas.SettledKey{Metric: w.Metric, WindowStart: w.WindowStart, WindowEnd: w.WindowEnd, Key: k, Precision: s.metrics[w.Metric].Top})
			}
		}
		if err := a.charge(NewSettlement(settled)); err != nil {
			t.Fatal(err)
		}
		account, want := a.of(1), units.Mu2(min(turn, 2)*(16+4+4)) // 48 of 50
		if account.Spent != want || account.Reserved != 0 {
			t.Fatalf("after %d windows %+v, want %d spent", turn, account, want)
		}
		mustDecide(t, a, s, []contribution{{user: 1, key: "a", n: 4}})
	}
}

// However many events a user has, what the user adds to both keys is at most the bound, and costs
// at most what is kept for one window.
func TestRuleNoUserMovesAShareByMoreThanItsBound(t *testing.T) {
	worst, _ := units.Charge(7, unit(3))
	for counted := range uint64(40) {
		for left := range uint64(40) {
			in, out := metrickind.Divide(counted, left, 7)
			if in+out != min(counted+left, 7) || counted+left <= 7 && in != counted {
				t.Fatalf("%d and %d events become %d and %d", counted, left, in, out)
			}
			a, _ := units.Charge(in, unit(3))
			b, _ := units.Charge(out, unit(3))
			if a+b > worst+1 {
				t.Fatalf("%d and %d events cost %d, of %d", counted, left, a+b, worst)
			}
			if all := float64(counted + left); all > 7 && (float64(in)-7*float64(counted)/all > 0.5 || 7*float64(counted)/all-float64(in) > 0.5) {
				t.Fatalf("%d and %d events become %d and %d: another ratio", counted, left, in, out)
			}
		}
	}
	if in, out := metrickind.Divide(1<<40, 1<<40, 1<<30); in != 1<<29 || out != 1<<29 {
		t.Errorf("many events become %d and %d", in, out)
	}
}

// What was decided about a share is the same once it is restored from the ledger: the events that
// its metric leaves out are kept there, also those of users whom the metric refuses.
func TestRuleARestoredShareReservesWhatWasReserved(t *testing.T) {
	s := shared()
	a := mustAccounts(t, s, []contribution{
		{user: 0, key: "a", n: 2},
		{user: 1, key: "a", n: 3},                            // one beyond the bucket of the metric
		{user: 2, key: "a", n: 1}, {user: 2, key: "b", n: 1}, // one key of two
	})
	restored := newShardAccounts(a.rules, oneSlice{})
	if err := restored.applyDelta(1, a.decided[0].delta, s.windows(1)); err != nil {
		t.Fatal(err)
	}
	for user := range 3 {
		if got, want := restored.of(user), a.of(user); got != want {
			t.Errorf("user %d: restored %+v, decided %+v", user, got, want)
		}
	}
}

// An attacker who knows everything but whether one user was ever there, and sees all that a metric
// and its share release, is told no more than the budget allows. The user's events, and when
// ladders stop, follow from the values before: the metric refuses the user first, and then the
// share does. Beside the attack, everything that was seen of the user is in the account: Σ c²·u.
// By chance the attack fails once in 10⁶ runs.
func TestAttackOnAShareOfCountedEvents(t *testing.T) {
	const trials, turns, epsilon, deviations = 4000, 8, 1.0, 5
	s := shared()
	s.budget = budgets.Budget{Mu2: 1 << 40} // μ = 1
	half := s.budget.Mu2 / 2
	metric, share := &s.metrics[0], &s.metrics[1]
	metric.Burst = 0
	metric.MaxEventsPerKey = 2
	metric.Top, share.Top = unit(uint64(half/8)), unit(uint64(half/2/16-1)) // squares in a window: 4 of the metric, 16 of the share
	metric.First, share.First = unit(uint64(half/32)), unit(uint64(half/2/64))
	rng := rand.New(runseed.PCG(t, 3, 2047))
	rules := mustWorld(t, s).rules
	var used [2]units.Mu2
	// score is the logarithm of the likelihood ratio of what was seen, with the user and without.
	score := func(there float64) (sum float64) {
		a := newShardAccounts(rules, oneSlice{})
		n, seen := uint32(2), 0.0
		for turn := uint64(1); turn <= turns; turn++ {
			mustDecide(t, a, s, []contribution{{user: 1, key: "a", n: n}, {user: 1, key: "b", n: 2}}) // one key of two
			counts := a.counts(&a.decided[0])
			settled := schemas.Settled{First: turn, Turn: turn, FirstRungs: []units.Precision{metric.First, share.First}}
			n = 2
			for i, w := range s.windows(turn) {
				spec := &s.metrics[w.Metric]
				for k, key := range spec.PublicKeys {
					c := 0.0
					if k < len(counts.keys[i]) {
						c = float64(counts.keys[i][k].Clamp(0, 1<<40))
					}
					draw := func(u float64) float64 { return there*c + rng.NormFloat64()/math.Sqrt(u) }
					u := spec.First
					y := draw(u.Float())
					loss := c * u.Float() * (y - c/2)
					if y*math.Sqrt(u.Float()) < 1 { // what is small is drawn again
						rest := spec.Top.Float() - u.Float()
						loss, u = loss+c*rest*(draw(rest)-c/2), spec.Top
					} else {
						n++
					}
					sum, seen = sum+loss, seen+c*c*u.Float()
					settled.Keys = append(settled.Keys, schemas.SettledKey{Metric: w.Metric, WindowStart: w.WindowStart, WindowEnd: w.WindowEnd, Key: key, Precision: u})
				}
			}
			if err := a.charge(NewSettlement(settled)); err != nil {
				t.Fatal(err)
			}
			if spent := a.of(1).Spent; math.Ldexp(float64(spent), -40) < seen*(1-1e-9) || spent > s.budget.Mu2 {
				t.Fatalf("μ² of %v was seen in %d turns: %d of %d units are charged for", seen, turn, spent, s.budget.Mu2)
			}
		}
		spent := a.of(1).Spent
		used[0], used[1] = min(used[0], spent), max(used[1], spent)
		return sum
	}
	used[0] = s.budget.Mu2
	var with, without float64
	for range trials {
		if score(1) > epsilon {
			with++
		}
		if score(0) > epsilon {
			without++
		}
	}
	got := with/trials - math.Exp(epsilon)*without/trials
	deviation := math.Sqrt((with/trials+math.Exp(2*epsilon)*without/trials)/trials) + 1e-9
	claimed := budgets.DeltaOf(s.budget.Mu2, epsilon, budgets.GDP)
	t.Logf("δ(1) shown %.4f ± %.4f, claimed %.4f; between %.3f and %.3f of the budget are spent", got, deviation, claimed,
		math.Ldexp(float64(used[0]), -40), math.Ldexp(float64(used[1]), -40))
	if got > claimed+deviations*deviation {
		t.Errorf("δ(1) of %v is shown, %v was promised", got, claimed)
	}
	if got < claimed/4 {
		t.Errorf("the attack shows a δ(1) of %v only, of %v: it would not see that a charge is missing", got, claimed)
	}
}
