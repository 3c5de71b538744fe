package spend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// attackTurns is the horizon of the attackers' allowances, in windows.
const attackTurns = 8

// attackers are users who each have keys of their own. They offer so many keys with so many events
// each in a window.
type attackers struct {
	name  string
	offer func(turn, most int, random *rand.Rand) (keys, events int)
}

func everyAttacker() []attackers {
	return []attackers{
		{"many keys with one event", func(_, most int, _ *rand.Rand) (int, int) { return most * most, 1 }},
		{"one key with everything", func(_, most int, _ *rand.Rand) (int, int) { return 1, 10 * most }},
		{"something of both", func(_, most int, r *rand.Rand) (int, int) { return 1 + r.IntN(most), 1 + r.IntN(most) }},
		{"all in the first window",
			func(turn, most int, _ *rand.Rand) (int, int) { return 2 * most * most / (turn * turn), most }},
		{"saves for the last window",
			func(turn, most int, _ *rand.Rand) (int, int) { return turn / attackTurns * 2 * most * most, 1 }},
	}
}

// Whatever users contribute, the probability that any key shows that only they have is at most
// δ_keys, and they pay at most the budget, and at most what their buckets have paid out by then. A
// single event is the dearest for the threshold if noise is large, and a full contribution if it is
// small.
func TestAttackOnKeysOfOneUser(t *testing.T) {
	const keys = 0.3 // δ_keys: so much is shown soon
	for _, c := range []struct {
		mu2   float64
		rungs float64 // the top by the first rung
	}{{0.06, 4}, {20, 1}} {
		b := budgets.Budget{Mu2: units.Mu2(math.Ldexp(c.mu2, units.Mu2Bits)),
			Keys: must.Have(units.DeltaFromFloat(keys))}
		m := metric1("m")
		m.MaxKeysPerUser, m.MaxEventsPerKey = 0, 0
		m.Burst, m.Refill, m.Horizon = b.Mu2/2, b.Mu2/2, attackTurns*testTurn
		// a full bucket pays for six events of a key
		m.Top = must.Have(units.PrecisionFromFloat(c.mu2/2/36.5, units.RoundDown))
		m.First = must.Have(units.PrecisionFromFloat(m.Top.Float()/c.rungs, units.RoundDown))
		m.DeltaKey = b.KeyDelta(m.First)
		most := 0.0
		for i, a := range everyAttacker() {
			t.Run(fmt.Sprintf("%v/%s", c.mu2, a.name), func(t *testing.T) {
				most = max(most, a.attack(t, b, m, uint64(i)))
			})
		}
		if most < 0.4*keys {
			t.Errorf("μ² %v: no attack shows keys of more than %v of the users, and δ_keys is %v", c.mu2, most, keys)
		}
	}
}

// attack returns the part of the users whose keys show.
func (a *attackers) attack(t *testing.T, b budgets.Budget, m schemas.MetricSpec, seed uint64) float64 {
	users := 200
	if long.On() {
		users = 10_000
	}
	plan := must.Have(noisereduction.Compile(noisereduction.Spec{Kind: noisereduction.Adaptive, First: m.First,
		Top: m.Top, Target: noisereduction.Target{Confidence: 0.95},
		Private: &noisereduction.Private{Contribution: m.Most(), DeltaKey: m.DeltaKey}}))
	w := must.Have(
		newWorld(settings{budget: b, metrics: []schemas.MetricSpec{m}, shards: 1, releaseShards: 1, slots: 16}, 1))
	random, allowance := rand.New(rand.NewPCG(seed, 1)), m.Allowance() // fixed seed: rates are compared with limits
	sigma, shown, owner := 1/math.Sqrt(m.First.Float()), map[int]bool{}, map[string]int{}
	for turn := 1; turn <= attackTurns; turn++ {
		var all []contribution
		for user := range users {
			keys, events := a.offer(turn, int(m.Most()), random)
			for k := range keys {
				key := fmt.Sprint(user, "/", k)
				owner[key] = user
				all = append(all, contribution{user: user, key: key, n: uint32(events)})
			}
		}
		partials := must.Have(w.play(uint64(turn), all, nil))
		paid := min(b.Mu2, m.Burst+allowance.Paid(int64(turn)*testTurn))
		for _, account := range w.accounts() {
			if account.Spent+account.Reserved > paid || account.Reserved > m.Burst {
				t.Fatalf("turn %d: an account has %+v where %v are paid out, and %v at once", turn, account, paid,
					m.Burst)
			}
		}
		s := schemas.Settled{Turn: uint64(turn), FirstRungs: []units.Precision{m.First}}
		for _, p := range partials {
			for _, c := range p.Cells {
				if float64(c.Count)+sigma*random.NormFloat64() <= plan.Threshold() {
					continue
				}
				shown[owner[string(c.Key)]] = true
				s.Keys = append(s.Keys, schemas.SettledKey{WindowStart: c.WindowStart, WindowEnd: c.WindowEnd,
					Key: slices.Clone(c.Key), Precision: m.Top})
			}
		}
		w.settlements.settle(s)
	}
	// Clopper and Pearson, wrong with probability 0.001.
	rate, least := float64(len(shown))/float64(users), 0.0
	if n := float64(len(shown)); n > 0 {
		least = mathext.InvRegIncBeta(n, float64(users)-n+1, 0.001)
	}
	t.Logf("%.4f of the users show, at least %.4f; δ_keys is %.4f", rate, least, b.Keys.Float())
	if least > b.Keys.Float() {
		t.Errorf("keys of %v of the users show, and δ_keys is %v", rate, b.Keys.Float())
	}
	return rate
}

// An attacker who knows everything but whether one user was ever there, and sees all releases of a
// metric and its share, learns no more than the budget allows. The user's events, and the ends of
// ladders, depend on earlier values: the metric refuses the user first, and then the share does.
// The test also checks that the account holds Σ c²·u for every release with the user. By chance the
// attack fails once in 10⁶ runs.
func TestAttackOnAShareOfCountedEvents(t *testing.T) {
	const trials, turns, epsilon, deviations = 4000, 8, 1.0, 5
	s := shared()
	s.budget = budgets.Budget{Mu2: 1 << 40} // μ = 1
	half := s.budget.Mu2 / 2
	metric, share := &s.metrics[0], &s.metrics[1]
	metric.Burst = 0
	metric.MaxEventsPerKey = 2
	// squares in a window: 4 of the metric, 16 of the share
	metric.Top, share.Top = unit(uint64(half/8)), unit(uint64(half/2/16-1))
	metric.First, share.First = unit(uint64(half/32)), unit(uint64(half/2/64))
	rng := rand.New(runseed.PCG(t, 3, 2047))
	rules := mustWorld(t, s).rules
	var used [2]units.Mu2
	// score is the log-likelihood ratio of the observations, with the user against without.
	score := func(there float64) (sum float64) {
		a := newShardAccounts(rules, oneSlice{})
		n, seen := uint32(2), 0.0
		for turn := uint64(1); turn <= turns; turn++ {
			mustDecide(t, a, s, []contribution{{user: 1, key: "a", n: n}, {user: 1, key: "b", n: 2}}) // one key of two
			counts := a.counts(a.decided)
			settled := schemas.Settled{Turn: turn, FirstRungs: []units.Precision{metric.First, share.First}}
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
					if y*math.Sqrt(u.Float()) < 1 { // small values are drawn again
						rest := spec.Top.Float() - u.Float()
						loss, u = loss+c*rest*(draw(rest)-c/2), spec.Top
					} else {
						n++
					}
					sum, seen = sum+loss, seen+c*c*u.Float()
					settled.Keys = append(settled.Keys, schemas.SettledKey{Metric: w.Metric, WindowStart: w.WindowStart,
						WindowEnd: w.WindowEnd, Key: key, Precision: u})
				}
			}
			must.Succeed(t, a.charge(NewSettlement(settled)))
			if spent := a.accountOf(1).Spent; math.Ldexp(float64(spent), -40) < seen*(1-1e-9) || spent > s.budget.Mu2 {
				t.Fatalf("μ² of %v was seen in %d turns: %d of %d units are charged for", seen, turn, spent,
					s.budget.Mu2)
			}
		}
		spent := a.accountOf(1).Spent
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
	t.Logf("δ(1) shown %.4f ± %.4f, claimed %.4f; between %.3f and %.3f of the budget are spent", got, deviation,
		claimed, math.Ldexp(float64(used[0]), -40), math.Ldexp(float64(used[1]), -40))
	if got > claimed+deviations*deviation {
		t.Errorf("δ(1) of %v is shown, %v was promised", got, claimed)
	}
	if got < claimed/4 {
		t.Errorf("the attack shows a δ(1) of %v only, of %v: it would not see that a charge is missing", got, claimed)
	}
}
