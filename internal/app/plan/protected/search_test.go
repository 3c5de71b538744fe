package protected

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

var sizesOfTests = []time.Duration{time.Second, 4 * time.Second, 20 * time.Second}

// exactly returns what a search asks for, without noise: the tables of habits, and as many trials
// as are paid for.
func exactly(t interface{ Fatal(...any) }, c *Choice, trials []trial) (tables [][]int64, answers []int64) {
	tables, err := c.habits(sizesOfTests)
	if err != nil {
		t.Fatal(err)
	}
	if answers, err = c.try(trials); err != nil {
		t.Fatal(err)
	}
	return tables, answers
}

// Without a user, every table of habits changes in one number by 1, and every trial by at most what
// it is paid for, whatever the user did. Together they cost at most the planned part of the budget.
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
		var trials []trial
		for i := range trialsOf(len(sizesOfTests)) {
			bounds := Bounds{sizesOfTests[i%len(sizesOfTests)], 1 + random.IntN(9), 1 + random.IntN(9), 1 + random.IntN(9)}
			trials = append(trials, trial{bounds, fine + random.Int64N(50*fine), random.Int64N(5 * fine)})
		}
		tables := func(records []record) ([][]int64, []int64) {
			c := choice(t, o, records)
			defer c.Close() //nolint:errcheck // of a test
			return exactly(rt, c, trials)
		}
		with, answers := tables(records)
		without, fewer := tables(slices.DeleteFunc(slices.Clone(records), func(r record) bool { return r.user == target }))
		prices, err := o.searchPrices(len(sizesOfTests))
		if err != nil {
			rt.Fatal(err)
		}
		paid := new(big.Int)
		pay := func(d int64, u units.Precision) {
			if d < 0 {
				rt.Fatalf("a number falls by %d where an individual comes", -d)
			}
			charge, ok := units.Charge(uint64(d), u)
			if !ok {
				rt.Fatal("the charge does not fit")
			}
			paid.Add(paid, new(big.Int).SetUint64(uint64(charge)))
		}
		for i := range with {
			price := prices.habits
			if i == 0 {
				price = prices.events
			}
			for j := range with[i] {
				pay(with[i][j]-without[i][j], price)
			}
		}
		for i := range answers {
			pay(answers[i]-fewer[i], prices.trial)
		}
		if planned := new(big.Int).SetUint64(uint64(b.Planned.Mu2)); paid.Cmp(planned) > 0 {
			rt.Fatalf("an individual pays %v units, planned are %v", paid, planned)
		}
	})
}

// An attacker who knows everything but whether one user is present weighs all answers of a search
// by what this user, who does as much as can be, changes in them. Over 800 searches with and
// without the user this is no better than the planned part allows, and not much worse
// (false-reject rate below 1e-6 on every side).
func TestAttackOnASearch(t *testing.T) {
	runs := 400
	if !long.On() {
		runs = 100 // shows gross mistakes only
	}
	b, err := budgets.NewBudget(1, .3, budgets.GDP, .2)
	if err == nil {
		b, err = b.Plan(.5)
	}
	if err != nil {
		t.Fatal(err)
	}
	var trials []trial
	for i := range trialsOf(len(sizesOfTests)) {
		trials = append(trials, trial{Bounds{sizesOfTests[i%len(sizesOfTests)], 20, 20, 20}, int64(10+i) * fine, fine})
	}
	without := population(9)
	with := slices.Clone(without)
	for w := range 40 {
		for k := range 30 {
			with = append(with, record{"victim", fmt.Sprint("k", k), int64(w) * 1000, 0}, record{"victim", fmt.Sprint("k", k), int64(w) * 1000, 0})
		}
	}
	o := Options{Window: time.Second, Budget: b}
	prices, err := o.searchPrices(len(sizesOfTests))
	if err != nil {
		t.Fatal(err)
	}
	type exact struct {
		tables  [][]int64
		answers []int64
	}
	var of [2]exact
	for i, records := range [][]record{without, with} {
		of[i].tables, of[i].answers = exactly(t, choice(t, o, records), trials)
	}
	statistic := func(e exact, run int) (sum float64) {
		var key [32]byte
		binary.BigEndian.PutUint64(key[:], uint64(2*run+len(e.tables[0])%2))
		o := o
		o.Key = noisereduction.NoiseKey{ID: "1", Secret: secret.New(key)}
		a := asker{c: choice(t, o, nil)}
		weigh := func(numbers, some, none []int64, u units.Precision) {
			got, err := a.ask(u, numbers)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range got {
				sum += n * float64(some[i]-none[i]) * u.Float()
			}
		}
		for i, table := range e.tables {
			price := prices.habits
			if i == 0 {
				price = prices.events
			}
			weigh(table, of[1].tables[i], of[0].tables[i], price)
		}
		weigh(e.answers, of[1].answers, of[0].answers, prices.trial)
		return sum
	}
	var in, out []float64
	for run := range runs {
		in, out = append(in, statistic(of[1], run)), append(out, statistic(of[0], run))
	}
	m1, d1 := meanAndDeviation(in)
	m0, d0 := meanAndDeviation(out)
	got, all, e := (m1-m0)/math.Sqrt((d1*d1+d0*d0)/2), b.Planned.Mu2.Mu(), 5*math.Sqrt(2/float64(runs))
	t.Logf("the attack separates by %.3f ± %.3f, what is planned allows %.3f", got, e, all)
	if got > all+e || got < all-e {
		t.Errorf("the attack separates by %.3f ± %.3f, what is planned allows %.3f", got, e, all)
	}
}

// Two searches with one key share no noise where one record differs, nor where times alone do.
func TestRuleTwoSearchesShareNoNoise(t *testing.T) {
	o := Options{Window: time.Second, Budget: budget(t, .2), Key: noisereduction.NoiseKey{ID: "1", Secret: secret.New([32]byte{7})}}
	records := population(60)
	later := slices.Clone(records)
	for i := range later {
		later[i].millis += int64(i) * 4000
	}
	numbers := func(records []record) []float64 {
		c := choice(t, o, records)
		tables, _ := exactly(t, c, nil)
		a := asker{c: c}
		got, err := a.ask(mustPrices(t, &o).habits, tables[3])
		if err != nil {
			t.Fatal(err)
		}
		again, err := a.ask(mustPrices(t, &o).habits, tables[3])
		if err != nil || slices.Equal(got, again) {
			t.Errorf("a second batch of the same numbers has the same noise (%v)", err)
		}
		return got
	}
	first, moved := numbers(records), numbers(later)
	for i := range first {
		if d := math.Abs(first[i] - moved[i]); d == math.Trunc(d) && i != 0 {
			t.Errorf("number %d differs by %v", i, d)
		}
	}
}

func mustPrices(t *testing.T, o *Options) searchPrices {
	t.Helper()
	p, err := o.searchPrices(len(sizesOfTests))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A search asks for no more trials than are paid for, and says where its part pays for nothing.
func TestRuleASearchAsksForWhatIsPaidOnly(t *testing.T) {
	o := Options{Window: time.Second, Budget: budget(t, .05), Key: noisereduction.NoiseKey{ID: "1"}}
	f := &searcher{Search: Search{Sizes: sizesOfTests, Sigma: func(Bounds) (float64, bool) { return 1, true }}, asker: asker{c: choice(t, o, population(9))}, found: &Found{Events: 100}, prices: mustPrices(t, &o)}
	for i := range trialsOf(len(sizesOfTests)) {
		if err := f.try([]Bounds{{time.Second, 1 + i, 1, 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.try([]Bounds{{time.Second, 1, 2, 1}}); !errors.Is(err, errUnpaid) {
		t.Errorf("one more trial: %v", err)
	}
}

// Of users who come once and do one thing with each of five keys, a search finds that; hopeless is
// what has no count that is above the noise, and too few users are not chosen by.
func TestASearchFindsWhatUsersDo(t *testing.T) {
	sigma := func(b Bounds) (float64, bool) {
		return 4.4 * math.Sqrt(float64(b.Keys*b.Last)) * float64(b.Events), true
	}
	find := func(users, names int) *Found {
		var records []record
		for u := range users {
			for k := range 5 {
				records = append(records, record{fmt.Sprint("u", u), fmt.Sprint("k", (u*7+k)%names), int64(u%3) * 1000, 0})
			}
		}
		o := Options{Window: time.Second, Budget: budget(t, .05), Key: noisereduction.NoiseKey{ID: "1", Secret: secret.New([32]byte{3})}}
		found, err := choice(t, o, records).Search(Search{Sizes: sizesOfTests, Sigma: sigma})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if f := find(12_000, 10); f.Hopeless() || f.Keys != 5 || f.Bounds.Events > 2 || math.Abs(f.Users-12_000) > 6*f.UsersDeviation {
		t.Errorf("few keys: %+v", f)
	}
	if f := find(12_000, 50_000); !f.Hopeless() || f.Window != 20*time.Second {
		t.Errorf("a key for each user: %+v", f)
	}
	if f := find(100, 10); f.Window != 0 {
		t.Errorf("100 users: %+v", f)
	}
}

// Whatever a user did, what a trial counts of it adds up to the limit at most: that is all that a
// user can move an answer by.
func TestRuleATrialCountsNoMoreOfAUserThanItsLimit(t *testing.T) {
	random := rand.New(runseed.PCG(t, 5, 0))
	cut := 0
	for range 2000 {
		var parts []part
		for i := range 1 + random.IntN(60) {
			parts = append(parts, part{window: int64(i / 5), rank: uint64(i), key: fmt.Sprint("k", i), events: 1 + random.Int64N(100)})
		}
		tried := trial{Bounds: Bounds{time.Second, 1 + random.IntN(6), 1 + random.IntN(60), 1 + random.IntN(9)}, limit: 1 + random.Int64N(500*fine)}
		sum, uncut := int64(0), int64(0)
		tried.clip(parts, func(_ int, n int64) { sum += n })
		free := tried
		free.limit = math.MaxInt64 >> 2
		free.clip(parts, func(_ int, n int64) { uncut += n })
		switch {
		case sum > tried.limit:
			t.Fatalf("%d fine events count, of at most %d", sum, tried.limit)
		case uncut <= tried.limit && sum != uncut, sum+int64(len(parts)) < min(uncut, tried.limit):
			t.Fatalf("%d fine events count, of %d and at most %d", sum, uncut, tried.limit)
		case uncut > tried.limit:
			cut++
		}
	}
	if cut < 100 {
		t.Errorf("only %d users reach the limit", cut)
	}
}
