package protected

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

var sizesOfTests = []time.Duration{time.Second, 4 * time.Second, 20 * time.Second}

// exactly returns the exact scores of trials for some records.
func exactly(t interface{ Fatal(...any) }, c *Choice, trials []trial, limit, half int64) []int64 {
	p, err := c.gather(1)
	if err != nil {
		t.Fatal(err)
	}
	return p.try(c.o.Window, trials, limit, half)
}

// Without a user, the table changes in one row by 1, their number by 1, and the sum of their events
// by at most what it is paid for. All scores move by at most the limit in all, between the one that
// rises least and the one that rises most: no outcome of a choice becomes more or less likely,
// compared with another, by more than e^ε, and what is shown moves by at most its steps. Together
// this costs at most the planned part of the budget.
func TestRuleASearchCostsAnIndividualWhatIsPlanned(t *testing.T) {
	b := budget(t, .05)
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Window: time.Second, Budget: b}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)) // fixed seed: rapid draws it
		if rapid.Bool().Draw(rt, "public") {
			o.PublicKeys = []string{"k0", "k2"}
		}
		o.mostCells = rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "cells")
		records := make([]record, 1+random.IntN(120))
		for i := range records {
			records[i] = record{fmt.Sprint("u", random.IntN(4)), fmt.Sprint("k", random.IntN(9)), random.Int64N(40_000) - 3000, 0}
		}
		target := records[random.IntN(len(records))].user
		limit, half := int64(1+random.IntN(40)), int64(random.IntN(scale+1))
		var trials []trial
		for i := range 12 {
			bounds := Bounds{sizesOfTests[i%len(sizesOfTests)], 1 + random.IntN(9), 1 + random.IntN(9), 1 + random.IntN(9)}
			trials = append(trials, trial{bounds, random.Int64N(3 * fine)})
		}
		type numbers struct {
			table      []int64
			users, sum int64
			scores     []int64
			likeliness []*big.Int
			all        *big.Int
		}
		prices, err := o.searchPrices()
		if err != nil {
			rt.Fatal(err)
		}
		ask := func(records []record) (n numbers) {
			c := choice(t, o, records)
			defer c.Close() //nolint:errcheck // of a test
			if n.table, err = c.habits(); err != nil {
				rt.Fatal(err)
			}
			for _, v := range n.table {
				n.users += v
			}
			if n.sum, err = c.extent(limit); err != nil {
				rt.Fatal(err)
			}
			n.scores = exactly(rt, c, trials, limit*fine, half)
			worth := make([]float64, len(n.scores))
			for i, s := range n.scores {
				worth[i] = min(float64(s), float64(scale*fine*20-i))
			}
			n.likeliness, n.all = likeliness(worth, rangeOf(prices.first), apart(limit)), new(big.Int)
			for _, w := range n.likeliness {
				n.all.Add(n.all, w)
			}
			return n
		}
		with := ask(records)
		without := ask(slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.user == target }))
		paid := 0.0
		pay := func(d int64, u units.Precision) {
			charge, ok := units.Charge(uint64(max(d, -d)), u)
			if !ok {
				rt.Fatal("the charge does not fit")
			}
			paid += units.Mu2(charge).Float()
		}
		for i := range with.table {
			pay(with.table[i]-without.table[i], prices.table)
		}
		pay(with.users-without.users, prices.users)
		pay(with.sum-without.sum, prices.events)
		least, most, moved := math.Inf(1), math.Inf(-1), 0.0
		for i := range trials {
			d := with.scores[i] - without.scores[i]
			if -half*limit*fine > d || d > (scale-half)*limit*fine {
				rt.Fatalf("a score moves by %d, of %d to %d", d, -half*limit*fine, (scale-half)*limit*fine)
			}
			of := func(n numbers) float64 {
				f, _ := new(big.Float).Quo(new(big.Float).SetInt(n.likeliness[i]), new(big.Float).SetInt(n.all)).Float64()
				return math.Log(f)
			}
			loss := of(with) - of(without)
			least, most = min(least, loss), max(most, loss)
			a, b := with.scores[i]*steps/(scale*limit*fine), without.scores[i]*steps/(scale*limit*fine)
			moved = max(moved, math.Abs(float64(a-b)))
		}
		if most-least > rangeOf(prices.first)*(1+1e-6) {
			rt.Fatalf("likeliness changes by factors between e^%v and e^%v, which is more than ε = %v apart", least, most, rangeOf(prices.first))
		}
		pay(int64(moved), prices.shown)
		paid += prices.first*prices.first + prices.second*prices.second
		if planned := b.Planned.Mu2.Float(); paid > planned*(1+1e-12) {
			rt.Fatalf("an individual pays %v, planned are %v", paid, planned)
		}
	})
}

// No test tells which of two outcomes of a choice is that of N(0, 1) and N(μ, 1) better than μ
// allows, whatever the likelihoods are: at all pairs of probabilities whose odds differ by e^ε.
func TestRuleARangeOfLikelihoodsCostsItsMu(t *testing.T) {
	quantile := func(logit float64) float64 { // Φ⁻¹ of 1/(1 + e^−logit), which is odd
		return math.Copysign(math.Sqrt2*math.Erfcinv(2/(1+math.Exp(math.Abs(logit)))), logit)
	}
	for _, mu := range []float64{1e-4, .01, .035, .05, .3, 1, 2} {
		epsilon := rangeOf(mu)
		largest := 0.0
		for at := -30.0; at < 30; at += .01 {
			largest = max(largest, quantile(at+epsilon)-quantile(at))
		}
		if largest > mu*(1+1e-6) || largest < mu*(1-1e-3) {
			t.Errorf("a range of %v costs up to %v, paid is %v", epsilon, largest, mu)
		}
	}
}

// An attacker who knows everything but whether one user is present, and who does as much as can be,
// tests for the user by a choice between settings that show the user, and settings that leave the
// user out. Over many choices this is no better than what is paid for allows, and where nothing is
// clipped not much worse (false-reject rate below 1e-6).
func TestAttackOnAPick(t *testing.T) {
	const mu, limit = 0.8, 20
	runs := 40_000
	if testing.Short() {
		runs = 4000
	}
	without := population(9)
	with := slices.Clone(without)
	for k := range limit {
		with = append(with, record{"victim", fmt.Sprint("secret", k), 0, 0})
	}
	// One counts all of the user, the other nothing that is above its noise.
	trials := []trial{{Bounds{time.Second, 100, 100, 100}, 0}, {Bounds{time.Second, 1, 1, 1}, 1000 * fine}}
	o := Options{Window: time.Second, Budget: budget(t, .05)}
	rate := func(records []record, which uint64) float64 {
		c := choice(t, o, records)
		scores := exactly(t, c, trials, limit*fine, 0)
		base := exactly(t, choice(t, o, without), trials, limit*fine, 0)
		worth := []float64{float64(scores[0]), float64(scores[1]) + float64(base[0]) + scale*limit*fine/2} // as likely as the other in the middle
		n := 0
		for run := range runs {
			var key [32]byte
			binary.BigEndian.PutUint64(key[:], uint64(run)*2+which)
			c.o.Key = noisereduction.NoiseKey{ID: "1", Secret: secret.New(key)}
			a := asker{c: c}
			if a.pick(mu, worth, apart(limit)) == 0 {
				n++
			}
		}
		return float64(n) / float64(runs)
	}
	quantile := func(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
	in, out := rate(with, 0), rate(without, 1)
	got, e := quantile(in)-quantile(out), 5*2.6*math.Sqrt(.5/float64(runs))
	t.Logf("the attack separates by %.3f ± %.3f, what is paid allows %.3f", got, e, mu)
	if got > mu+e || got < mu-e {
		t.Errorf("the attack separates by %.3f ± %.3f, what is paid allows %.3f", got, e, mu)
	}
}

// The numbers of a search separate no better than what is planned for them (false-reject rate below
// 1e-6).
func TestAttackOnTheNumbersOfASearch(t *testing.T) {
	const runs = 400
	b, err := budgets.NewBudget(1, .3, budgets.GDP, .2)
	if err == nil {
		b, err = b.Plan(.5)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Window: time.Second, Budget: b}
	prices, err := o.searchPrices()
	if err != nil {
		t.Fatal(err)
	}
	statistic := func(run, user int) (sum float64) {
		var key [32]byte
		binary.BigEndian.PutUint64(key[:], uint64(2*run+user))
		o := o
		o.Key = noisereduction.NoiseKey{ID: "1", Secret: secret.New(key)}
		a := asker{c: choice(t, o, nil)}
		for _, q := range []struct {
			price units.Precision
			by    int64
		}{{prices.table, 1}, {prices.users, 1}, {prices.events, steps}, {prices.shown, steps}} {
			got, err := a.ask(q.price, []int64{100 + int64(user)*q.by})
			if err != nil {
				t.Fatal(err)
			}
			sum += got[0] * float64(q.by) * q.price.Float()
		}
		return sum
	}
	var in, out []float64
	for run := range runs {
		in, out = append(in, statistic(run, 1)), append(out, statistic(run, 0))
	}
	m1, d1 := meanAndDeviation(in)
	m0, d0 := meanAndDeviation(out)
	got, e := (m1-m0)/math.Sqrt((d1*d1+d0*d0)/2), 5*math.Sqrt(2./runs)
	all := b.Planned.Mu2.Mu() * math.Sqrt(float64(ofTable+ofUsers+ofEvents+ofShown)/ofAll)
	if got > all+e || got < all-e {
		t.Errorf("the attack separates by %.3f ± %.3f, what is planned allows %.3f", got, e, all)
	}
}

// Two searches with one nonce share no noise where one record differs, and two questions of one
// search share none.
func TestRuleTwoSearchesShareNoNoise(t *testing.T) {
	o := Options{Window: time.Second, Budget: budget(t, .2), Key: noisereduction.NoiseKey{ID: "1", Secret: secret.New([32]byte{7})}}
	prices, err := o.searchPrices()
	if err != nil {
		t.Fatal(err)
	}
	a := asker{c: choice(t, o, nil)}
	ask := func(numbers ...int64) []float64 {
		got, err := a.ask(prices.table, numbers)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := ask(5, 6)
	if again := ask(5, 6); slices.Equal(first, again) {
		t.Error("a second batch of the same numbers has the same noise")
	}
	a.n = 0
	if moved := ask(5, 7); moved[0] == first[0] {
		t.Error("numbers have the same noise where another one differs")
	}
	same := 0
	for i := range 200 {
		worth := make([]float64, 100)
		a.n = 0
		one := a.pick(1, worth, 1)
		a.n = 0
		worth[i%100] = -1e-3
		if a.pick(1, worth, 1) == one {
			same++
		}
	}
	if same > 25 { // of 200 about 2
		t.Errorf("%d of 200 choices are the same where one score differs slightly", same)
	}
}

// Of users who come once and do one thing with each of five keys, a search finds that; hopeless is
// what has no count that is above the noise, and too few users are not chosen by.
func TestASearchFindsWhatUsersDo(t *testing.T) {
	sigma := func(b Bounds) (float64, bool) {
		return 4.4 * math.Sqrt(float64(b.Keys*b.Last)) * float64(b.Events), true
	}
	find := func(users, names int, given Bounds) *Found {
		var records []record
		for u := range users {
			for k := range 5 {
				records = append(records, record{fmt.Sprint("u", u), fmt.Sprint("k", (u*7+k)%names), int64(u%3) * 1000, 0})
			}
		}
		o := Options{Window: time.Second, Budget: budget(t, .05), Key: noisereduction.NoiseKey{ID: "1", Secret: secret.New([32]byte{3})}}
		found, err := choice(t, o, records).Search(Nonce{}, Search{Sizes: sizesOfTests, Sigma: sigma, Given: given})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if f := find(12_000, 10, Bounds{}); f.Hopeless() || f.Keys < 3 || f.Bounds.Events > 7 || math.Abs(f.Users-12_000) > 6*f.UsersDeviation {
		t.Errorf("few keys: %+v", f)
	}
	if f := find(12_000, 10, Bounds{Keys: 4}); f.Keys != 4 {
		t.Errorf("with given keys: %+v", f)
	}
	if f := find(12_000, 50_000, Bounds{}); !f.Hopeless() || f.Window != 20*time.Second {
		t.Errorf("a key for each user: %+v", f)
	}
	if f := find(100, 10, Bounds{}); f.Window != 0 {
		t.Errorf("100 users: %+v", f)
	}
}

// Whatever a user did, what is real of it adds up to the limit at most, and what counts is no more
// than that in any cell: that is all that a user can move a score by.
func TestRuleATrialCountsNoMoreOfAUserThanItsLimit(t *testing.T) {
	random := rand.New(runseed.PCG(t, 5, 0))
	cut := 0
	for range 2000 {
		p := &people{}
		for i := range 1 + random.IntN(60) {
			p.acts = append(p.acts, act{window: int64(i / 5), rank: random.Uint64(), key: int32(i), events: 1 + random.Int32N(100)})
		}
		p.ends = []int{len(p.acts)}
		c, limit := p.group(1+random.Int64N(3)), 1+random.Int64N(2000*fine)
		tried := trial{Bounds: Bounds{time.Second, 1 + random.IntN(6), 1 + random.IntN(60), 1 + random.IntN(9)}}
		real, counted, sum := c.real(limit), make([]int64, c.cells), int64(0)
		c.counted(&tried, limit, counted)
		for i := range real {
			if sum += real[i]; counted[i] > real[i] {
				t.Fatalf("%d fine events count, of %d", counted[i], real[i])
			}
		}
		switch all := c.users[0].events * fine; {
		case sum > limit:
			t.Fatalf("%d fine events are real, of at most %d", sum, limit)
		case sum+int64(len(real)) < min(all, limit):
			t.Fatalf("%d fine events are real, of %d and at most %d", sum, all, limit)
		case all > limit:
			cut++
		}
	}
	if cut < 100 {
		t.Errorf("only %d users reach the limit", cut)
	}
}
