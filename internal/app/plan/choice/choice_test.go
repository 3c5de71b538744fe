package choice

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

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed" // seeds rapid
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// unprotected makes deployments of one metric of a kind, at (ε, 1e-6), with a planned part of the
// promise, and without a threshold of private keys.
func unprotected(kind string) Compile {
	return func(s Setting) (*deployment.Deployment, error) {
		b, err := budgets.NewBudget(s.Epsilon, 1e-6, budgets.GDP, 1e-7)
		if err == nil {
			b, err = b.Plan(.05)
		}
		if err != nil {
			return nil, err
		}
		u, err := units.PrecisionFromSigma(s.Noise)
		if err != nil {
			return nil, err
		}
		spec := schemas.MetricSpec{Name: "m", Kind: kind, WindowSize: s.Window.Milliseconds(),
			WindowSlide: s.Window.Milliseconds(), KeyMode: schemas.KeysPrivate, First: u, Top: u,
			LadderKind: "geometric", LadderFactor: 2, Confidence: .95, Burst: b.Mu2 / 2, Refill: b.Mu2 / 2,
			Horizon: s.Lasts.Milliseconds(), DeltaKey: b.KeyDelta(u), Min: math.MinInt32, Max: math.MaxInt32}
		return &deployment.Deployment{Budget: b, Metrics: []deployment.CompiledMetric{{Spec: spec}}}, nil
	}
}

// compiled makes such deployments with the threshold.
func compiled(kind string) Compile {
	return func(s Setting) (*deployment.Deployment, error) {
		d, err := unprotected(kind)(s)
		if err != nil {
			return nil, err
		}
		m := &d.Metrics[0]
		m.Plan, err = noisereduction.Compile(noisereduction.Spec{Kind: noisereduction.Geometric, Factor: 2,
			First: m.Spec.First, Top: m.Spec.Top, Target: noisereduction.Target{Confidence: .95},
			Private: &noisereduction.Private{Contribution: m.Spec.Most(), DeltaKey: m.Spec.DeltaKey}})
		return d, err
	}
}

func keyOf(n uint64) noisereduction.NoiseKey {
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], n)
	return noisereduction.NoiseKey{ID: "1", Secret: secret.New(key)}
}

// does is an event of a test.
type does struct {
	user, key string
	time      time.Duration
	value     int64
}

func store(t testing.TB, all []does) *Events {
	t.Helper()
	e := NewEvents([32]byte{1}, 0, 0, t.TempDir())
	t.Cleanup(func() { e.Close() }) //nolint:errcheck // a test's file
	for _, d := range all {
		must.Succeed(t, e.Add([]byte(d.user), []byte(d.key), d.time.Milliseconds(), d.value))
	}
	return e
}

// manyUsers is users who each have events on several days with a few keys, one key most.
func manyUsers(users, days, events int) (all []does) {
	for u := range users {
		for i := range events {
			all = append(all, does{fmt.Sprint("user", u), fmt.Sprint("key", (u*i)%7*((u+i)%2)),
				time.Duration((u+i*i)%days)*day + time.Duration(u%20)*time.Hour, int64(u%5 + 1)})
		}
	}
	return all
}

func privately(t testing.TB, kind string, n uint64, sizes ...time.Duration) Private {
	t.Helper()
	compile := compiled(kind)
	d := must.Have(compile(Setting{Window: day, Noise: 10, Epsilon: 1, Lasts: day}))
	return Private{Sizes: sizes, Given: Setting{Epsilon: 1}, Compile: compile, Budget: d.Budget,
		Kind: metrickind.Of(kind), Key: keyOf(n)}
}

// TestRuleAUserMovesTheNumbersOfAChoiceByTheirBounds: with and without a user, the tables differ
// by 1 in one row, the changes of the scores of a decision by at most its width, and the answers on
// use by at most their own. Little noise, so that counts are above it.
func TestRuleAUserMovesTheNumbersOfAChoiceByTheirBounds(t *testing.T) {
	var busy, crowd []does // who are each within the limit, in another cell
	for i := range 1200 {
		busy, crowd = append(busy, does{"busy", "key", 0, 1}), append(crowd, does{fmt.Sprint(i % 400), "key", 300 * day,
			1})
	}
	move(t, t, "events", 30, 10, busy, crowd)
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]string{"events", "distinct_users", "sum"}).Draw(rt, "kind")
		far := rapid.SampledFrom([]int{1, 30, 300, 30_000}).Draw(rt, "hours")
		most := rapid.SampledFrom([]int64{1, 20, 1 << 20, math.MaxInt64}).Draw(rt, "most")
		draw := func(user string) (all []does) {
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)) // fixed seed: rapid draws it
			sign := random.IntN(3) - 1
			for range rapid.SampledFrom([]int{1, 5, 30, 300}).Draw(rt, "events") {
				value := 1 + random.Int64N(most)
				if sign < 0 || sign == 0 && random.IntN(2) == 0 {
					value = -value
				}
				all = append(all, does{user, fmt.Sprint(random.IntN(4)), time.Duration(random.IntN(far)) * time.Hour,
					value})
			}
			return all
		}
		victim, others := draw("victim"), []does(nil)
		for u := range rapid.IntRange(0, 6).Draw(rt, "users") {
			others = append(others, draw(fmt.Sprint(u))...)
		}
		epsilon, limit := rapid.SampledFrom([]float64{1, 10, 30, 60}).Draw(rt, "epsilon"),
			rapid.SampledFrom([]float64{1, 2, 10, 40, 100}).Draw(rt, "limit")
		move(t, rt, kind, epsilon, limit, victim, others)
	})
}

// move checks by how much a user moves the numbers of a choice.
func move(t *testing.T, rt rapid.TB, kind string, epsilon, limit float64, victim, others []does) {
	t.Helper()
	p := privately(t, kind, 0, 6*time.Hour, day, 7*day)
	p.Given.Lasts, p.Given.Epsilon, p.Compile = 30*day, epsilon, unprotected(kind)
	numbers := func(all []does) []exact {
		c := &chooser{Private: &p, events: store(t, all), limit: limit, counts: 300, countedShare: .9,
			found: &Found{Setting: p.Given}}
		table, err1 := c.table()
		values, err2 := c.valueTable()
		horizons, err3 := c.scoreLengths()
		settings, scores, err4 := c.candidates(p.Sizes)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		out := []exact{table, values, horizons, scores}
		for i := range settings {
			out = append(out, settings[i].use())
		}
		return out
	}
	with, without := numbers(append(others, victim...)), numbers(others)
	for i := range with {
		least, greatest, squares := int64(math.MaxInt64), int64(math.MinInt64), int64(0)
		for k, n := range with[i].numbers {
			by := n - without[i].numbers[k]
			least, greatest, squares = min(least, by), max(greatest, by), squares+by*by
		}
		moves := int64(with[i].moves)
		switch scores := i == 2 || i == 3; {
		case scores && greatest-least > moves, !scores && squares > moves*moves:
			rt.Fatalf("decision %d: changes from %d to %d, said to be by %d", i, least, greatest, moves)
		}
	}
}

// TestRuleTheWidthOfScoresIsReached: that, and the bound of the answer on use,
// by a user of whom one setting counts all and another nothing, beside small cells with a quarter
// of all, which settle the size that is taken from all cells.
func TestRuleTheWidthOfScoresIsReached(t *testing.T) {
	scores := func(user, all int64) (out [4]int64) {
		real := append(slices.Repeat([]int64{whole / 250}, 1000), 11*whole, user)
		few, many := append(make([]int64, 1001), user), append(real[:1000:1000], 0, 0)
		for i, counts := range [][]int64{few, many} {
			c := candidate{shown: largeFrom(real, all).above(counts, counts, 0), all: all}
			out[i], out[2+i] = c.score(0), c.use().numbers[0]
		}
		return out
	}
	with, without := scores(whole, 16*whole), scores(0, 15*whole)
	if width := int64(settingDecision.moves); with[0]-without[0]+without[1]-with[1] > width || with[0]-without[0]+
		without[1]-with[1] < width-2 {
		t.Errorf("scores %v with a user and %v without, at a width of %d", with, without, width)
	}
	if by := without[3] - with[3]; by > int64(useDecision.moves) || by < int64(useDecision.moves)-2 {
		t.Errorf("the answer on use moves by %d, at most %d", by, useDecision.moves)
	}
}

// TestRuleADecisionIsAsLikelyAsItsScore: an index is picked with probability in proportion to
// r^(max − score), where √(2π)/4·width·ln(1/r) is at most the root of the share, and nearly that
// (false-reject rate below 1e-6).
func TestRuleADecisionIsAsLikelyAsItsScore(t *testing.T) {
	const runs, width = 3000, 40
	got := [3]float64{}
	d := &drawer{planned: 1 << 40} // μ² = 1
	for n := range runs {
		d.key, d.used = keyOf(uint64(n)), 0
		picked := must.Have(d.pick(exact{decision{lengthDecision.parts, width}, []int64{100, 140, 60}}))
		got[picked]++
	}
	mu := math.Sqrt(float64(lengthDecision.parts) / allParts)
	odds := math.Exp(mu * 4 / math.Sqrt(2*math.Pi)) // of 40 more
	for i, want := range []float64{1, odds, 1 / odds} {
		p := want / (1 + odds + 1/odds)
		if deviation := math.Sqrt(runs * p * (1 - p)); math.Abs(got[i]-runs*p) > 5.2*deviation {
			t.Errorf("index %d is picked %v times of %d, want %.0f ± %.0f", i, got[i], runs, runs*p, deviation)
		}
	}
}

// TestRuleWeightsAreExact: to within a part of 2^-100, also far away and where ε is small.
func TestRuleWeightsAreExact(t *testing.T) {
	for _, w := range []struct{ ratio, n int64 }{{1<<32 - 1, 0}, {1<<32 - 1, 1 << 14}, {1<<32 - 1<<22, 40_000},
		{4_000_000_000, 570}, {1 << 31, 58}, {5, 2}} {
		want := new(big.Int).Exp(big.NewInt(w.ratio), big.NewInt(w.n), nil)
		want.Lsh(want, weightBits)
		got := weight(w.ratio, w.n)
		off := got.Sub(got.Lsh(got, uint(ratioBits*w.n)), want)
		if off.Lsh(off.Abs(off), 100).Cmp(want) > 0 {
			t.Errorf("the weight of (%d/2^32)^%d", w.ratio, w.n)
		}
	}
	// So far away that exact powers take minutes.
	if _, err := (&drawer{planned: 1 << 8, key: keyOf(1)}).pick(exact{decision{lengthDecision.parts, 55},
		[]int64{0, math.MaxInt64}}); err != nil {
		t.Error(err)
	}
}

// TestRuleAChoiceSpendsWhatIsPlanned: the precisions and widths of all decisions add up to the
// planned part at most, and one more is refused.
func TestRuleAChoiceSpendsWhatIsPlanned(t *testing.T) {
	d := &drawer{planned: 12345678901, key: keyOf(1)}
	spent := 0.0
	for _, decided := range []decision{usersDecision, useDecision, valuesDecision} {
		_, deviation, err := d.noisy(exact{decided, []int64{0}})
		if err != nil {
			t.Fatal(err)
		}
		spent += float64(decided.moves*decided.moves) / deviation / deviation
	}
	for _, decided := range []decision{lengthDecision, settingDecision} {
		share := must.Have(d.spend(decided))
		spent += share.Float()
	}
	if _, err := d.spend(decision{1, 1}); err == nil {
		t.Error("a decision beyond the planned part")
	}
	if spent > d.planned.Float() || spent < .999*d.planned.Float() {
		t.Errorf("%v spent of %v", spent, d.planned.Float())
	}
}

// TestAChoiceShowsMuch: of users enough, the window and the noise that are chosen show what the
// best do, the horizon holds the days of the events, and the same key chooses the same again in
// another order of events. Other ε give nearly as much as if they were asked for, even with a given
// noise.
func TestAChoiceShowsMuch(t *testing.T) {
	all := manyUsers(2500, 28, 12)
	p := privately(t, "events", 3, time.Hour, day, 7*day)
	found := must.Have(store(t, all).Choose(p))
	if found.Few || !found.Useful || found.Lasts < 28*day || found.Lasts > 60*day || math.Abs(found.Users-2500) >
		6*found.UsersDeviation {
		t.Errorf("found %+v", found)
	}
	e := store(t, all)
	advise := func(epsilon, noise float64) *Advice {
		return must.Have(e.Advise(t.Context(), Question{Sizes: []time.Duration{found.Window},
			Given: Setting{Epsilon: epsilon, Lasts: found.Lasts, Noise: noise}, Compile: p.Compile}))
	}
	best := advise(1, 0)
	for _, noise := range []float64{0, best.Best.Noise} {
		for _, o := range advise(1, noise).Epsilon {
			asked := advise(o.Epsilon, noise).Best
			if o.Typical > 1.1*asked.Typical || noise > 0 && o != asked {
				t.Errorf("with ε = %v: %+v, asked for it: %+v", o.Epsilon, o, asked)
			}
		}
	}
	got, err := e.Forecast(found.Setting, p.Compile)
	if err != nil || got.Typical > .1 || got.Typical > 2.5*best.Best.Typical {
		t.Errorf("chosen %+v, best %+v, %v", got, best.Best, err)
	}
	slices.Reverse(all)
	e = store(t, nil)
	e.limit = 5000 // most events are in files
	for _, d := range all {
		must.Succeed(t, e.Add([]byte(d.user), []byte(d.key), d.time.Milliseconds(), d.value))
	}
	if again, err := e.Choose(p); err != nil || *again != *found {
		t.Errorf("in another order, from files: %+v instead of %+v, %v", again, found, err)
	}
}

// TestFewUsersGetASettingThatDoesNotDependOnThem: nor does one key choose it.
func TestFewUsersGetASettingThatDoesNotDependOnThem(t *testing.T) {
	var settings []Setting
	for n, all := range [][]does{manyUsers(3, 5, 4), manyUsers(8, 300, 2), nil} {
		found, err := store(t, all).Choose(privately(t, "events", uint64(n), day, 7*day))
		if err != nil || !found.Few || found.Useful {
			t.Fatalf("%+v, %v", found, err)
		}
		settings = append(settings, found.Setting)
	}
	if settings[0] != settings[1] || settings[1] != settings[2] {
		t.Errorf("settings %v", settings)
	}
}

// TestNoiseDoesNotChooseARange: a row of values without users is not taken for one with users,
// unless it is near them; and if the noise hides all rows, users are too few.
func TestNoiseDoesNotChooseARange(t *testing.T) {
	p := privately(t, "sum", 0)
	for users, rows := range map[int]int{4000: 1, 1000: 5, 300: 5} {
		var all []does
		for u := range users {
			all = append(all, does{fmt.Sprint(u), "key", 0, 50 << (u % rows)})
		}
		e := store(t, all)
		for n := range uint64(300) {
			c := &chooser{Private: &p, events: e, found: &Found{}, drawer: &drawer{key: keyOf(n),
				planned: p.Budget.Planned.Mu2}}
			f := c.found
			if err := c.chooseRange(); err != nil || !f.Few && (f.Min != 0 || f.Max < 64 || f.Max > 256<<(rows-1)) ||
				f.Few && users == 4000 {
				t.Errorf("key %d: from %d to %d, %v, %v", n, f.Min, f.Max, f.Few, err)
			}
		}
	}
}

// TestRuleTwoChoicesShareNoNoise: another key, another argument and other data each have noise of
// their own, even if most numbers are alike.
func TestRuleTwoChoicesShareNoNoise(t *testing.T) {
	noise := func(key uint64, argument byte, numbers ...int64) string {
		d := &drawer{key: keyOf(key), arguments: [32]byte{argument}, planned: 1 << 30}
		out, _, err := d.noisy(exact{usersDecision, numbers})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(out[0] - float64(numbers[0]))
	}
	seen := map[string]bool{}
	for _, text := range []string{noise(1, 1, 5, 7), noise(2, 1, 5, 7), noise(1, 2, 5, 7), noise(1, 1, 5, 8),
		noise(1, 1, 6, 7)} {
		if seen[text] {
			t.Errorf("noise %s twice", text)
		}
		seen[text] = true
	}
	if !seen[noise(1, 1, 5, 7)] {
		t.Error("the same choice has other noise")
	}
}
