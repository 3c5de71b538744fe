package forecast_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

const size = time.Hour

// compiled returns a deployment of hours; change may be nil.
func compiled(t testing.TB, s demo.Settings, change func(*deployment.Config)) *deployment.Deployment {
	t.Helper()
	s.Delta, s.Accountant, s.Window = 1e-6, "gdp", size
	if s.Target == (noisereduction.Target{}) {
		s.Target = noisereduction.Target{Relative: .1, Confidence: .95}
	}
	d, err := s.Compile()
	if err == nil && change != nil {
		cfg := d.Config
		change(&cfg)
		d, err = deployment.Compile(cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// same returns windows that all have the same cells, and names for the keys: k0, k1, ….
func same(windows int, rate float64, cells ...sample.Cell) *sample.Windows {
	all := make([][]sample.Cell, windows)
	for i := range all {
		all[i] = cells
	}
	w := sample.NewWindows(size, 0, rate, all)
	for k := range w.Keys {
		w.Names = append(w.Names, fmt.Sprintf("k%d", k))
	}
	return w
}

func of(t testing.TB, w *sample.Windows, d *deployment.Deployment, o forecast.Options) *forecast.Forecast {
	t.Helper()
	f, err := forecast.Of(t.Context(), w, d, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func equal(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// within demands a random mean within 4.5 standard errors: by chance it is not once in 150,000
// runs. Seeds are fixed here and in the other tests of forecasts: ratios of variances are held to
// rougher bounds.
func within(t *testing.T, what string, got, want, se float64) {
	t.Helper()
	if math.Abs(got-want) > 4.5*se {
		t.Errorf("%s: %v, want %v ± %v", what, got, want, se)
	}
}

// A user alone never comes near a relative target: every window costs c²·u_top, and ⌊B²/(c²·u_top)⌋
// windows are paid; a share of counted
// events takes what it costs and what is kept for it, and each period begins anew.
func TestAUserAloneRunsDryAsArithmeticSays(t *testing.T) {
	const windows = 400
	for _, events := range []uint32{1, 2, 7} {
		for name, change := range map[string]func(*deployment.Config){
			"":        nil,
			"counted": func(c *deployment.Config) { c.Metrics[0].Counted = &deployment.Counted{Share: .3} },
			"period":  func(c *deployment.Config) { c.Privacy.Period = 100 * size },
			"distinct": func(c *deployment.Config) {
				c.Metrics[0].Kind, c.Metrics[0].MaxEventsPerKey = metrickind.DistinctUsers, 0
			},
		} {
			d := compiled(t, demo.Settings{Epsilon: 1, MaxKeysPerUser: 1, MaxEventsPerKey: 3, LastAtLeast: 5, PublicKeys: []string{"k0"}}, change)
			truth, c := float64(events), min(uint64(events), 3)
			if name == "distinct" {
				truth, c = 1, 1
			}
			price, ok := units.Charge(c, d.Metrics[0].Spec.Top)
			paid := float64(d.Budget.Mu2 / price)
			if name == "counted" { // which is paid once the metric is admitted
				share := &d.Metrics[1].Spec
				beside, _ := units.Charge(min(uint64(events), uint64(share.MaxEventsPerKey)), share.Top)
				limit := d.Budget.Mu2 - units.Mu2(deployment.KeptFor(share).Uint64())
				paid = float64((limit-price)/(price+beside) + 1)
			}
			span := float64(windows)
			if name == "period" {
				span = 100
			}
			if !ok || paid < 5 {
				t.Fatalf("%s: %v windows are paid, fewer than last_at_least", name, paid)
			}
			last := int(min(paid, span))
			f := of(t, same(windows, 1, sample.Cell{Events: events}), d, forecast.Options{Lost: []int{last, last + 1}})
			what := fmt.Sprintf("%s %d events", name, events)
			equal(t, what+": truth", f.Truth, windows*truth)
			equal(t, what+": kept", f.Kept, windows*float64(c))
			equal(t, what+": counted", f.Counted, float64(c)*min(paid, span)*windows/span)
			equal(t, what+": shown", f.Shown, windows)
			if f.Lost[0].Window != last || paid >= span {
				continue
			}
			equal(t, what+": lost while paid", f.Lost[0].Users, 0)
			equal(t, what+": lost afterwards", f.Lost[1].Users, 1)
		}
	}
}

// A private key that never comes out costs the first precision, a quarter of the last: δ_keys is
// spent first, after all pairs of window and key that last_at_least windows can have.
func TestPrivateKeysSpendDeltaFirst(t *testing.T) {
	for _, own := range []uint32{1, 2, 3, 5} {
		d := compiled(t, demo.Settings{Epsilon: 1, MaxKeysPerUser: 3, MaxEventsPerKey: 2, LastAtLeast: 20}, nil)
		var cells []sample.Cell
		for k := range own {
			cells = append(cells, sample.Cell{Key: k, Events: 9})
		}
		kept := min(own, 3)
		f := of(t, same(200, 1, cells...), d, forecast.Options{Lost: []int{int(60 / kept), int(60/kept) + 1}})
		equal(t, "kept", f.Kept, float64(200*kept*2))
		equal(t, "counted", f.Counted, float64(60/kept*kept*2))
		equal(t, "lost while δ lasts", f.Lost[0].Users, 0)
		equal(t, "lost afterwards", f.Lost[1].Users, 1)
		equal(t, "shown", f.Shown, 0)
	}
}

// many returns keys of which each has so many users with one event.
func many(keys, users uint32, rate float64) *sample.Windows {
	var cells []sample.Cell
	for k := range keys {
		for u := range users {
			cells = append(cells, sample.Cell{User: k*users + u, Key: k, Events: 1})
		}
	}
	return same(1, rate, cells...)
}

// A key is shown with the probability that its first noisy count is above the threshold; where
// users were sampled the count is the scaled one, and its noise is not.
func TestKeysAreShownAsOftenAsNoiseIsAboveTheThreshold(t *testing.T) {
	d := compiled(t, demo.Settings{Epsilon: 4, MaxKeysPerUser: 1, MaxEventsPerKey: 1, LastAtLeast: 4}, nil)
	const keys, paths = 400, 50
	for _, rate := range []float64{1, .25} {
		for _, sigmas := range []float64{-1.5, 0, 1} {
			f := of(t, many(1, 1, 1), d, forecast.Options{})
			users := max(1, math.Round((f.Threshold+sigmas*f.FirstSigma)*rate))
			count := users / rate
			want := math.Erfc((f.Threshold-count)/f.FirstSigma/math.Sqrt2) / 2
			f = of(t, many(keys, uint32(users), rate), d, forecast.Options{Paths: paths, Seed: 3, Keys: []uint32{7}})
			se := math.Sqrt(want * (1 - want))
			within(t, "shown", f.Shown/keys, want, se/math.Sqrt(keys*paths))
			within(t, "shown of one key", f.Keys[0].Shown, want, se/math.Sqrt(paths))
			equal(t, "counts", f.Counts, keys)
			equal(t, "truth", f.Truth, keys*count)
			equal(t, "counted", f.Counted, keys*count)
			within(t, "reach", f.Reach, count/f.Threshold, 1e-12) // a mean over paths, rounded
			equal(t, "truth of a key", f.Keys[0].Truth, count)
			equal(t, "truth shown", math.Round(f.ShownTruth), math.Round(f.Shown*count))
			// Standard errors are those of a binomial law, up to their own of 1/√(2·paths).
			if r := f.SE.Shown / (se * math.Sqrt(keys) / math.Sqrt(paths)); r < .55 || r > 1.45 {
				t.Errorf("standard error of shown: %v times that of the binomial law", r)
			}
		}
	}
}

// Public keys without events are counts of 0 in each window, which meet no relative target: their
// error is the mean of |N(0, σ_top²)|.
func TestPublicKeysWithoutEventsAreReleased(t *testing.T) {
	d := compiled(t, demo.Settings{Epsilon: 1, MaxKeysPerUser: 1, MaxEventsPerKey: 1, LastAtLeast: 10, PublicKeys: []string{"none", "k1", "neither"}}, nil)
	const windows, paths = 50, 40
	f := of(t, same(windows, 1, sample.Cell{Key: 0, Events: 5}), d, forecast.Options{Paths: paths, Seed: 5})
	n := 3.0 * windows
	equal(t, "counts", f.Counts, n)
	equal(t, "shown", f.Shown, n)
	equal(t, "keys", f.KeysEver, 3)
	equal(t, "keys shown", f.KeysShown, 3)
	equal(t, "truth", f.Truth, 0)
	equal(t, "lost", f.Lost[0].Users, 0)
	equal(t, "relative error", f.RelativeError, 0)
	if !math.IsInf(f.Threshold, -1) {
		t.Errorf("threshold %v of public keys", f.Threshold)
	}
	sigma := f.TopSigma
	within(t, "error", f.Error, sigma*math.Sqrt(2/math.Pi), sigma*math.Sqrt((1-2/math.Pi)/(n*paths)))
}

// Of n keys K stay, each with the same probability, and of each at most E events.
func TestClippingKeepsEachKeyEquallyOften(t *testing.T) {
	const users, keys, most, events = 5000, 7, 3, 2
	var cells []sample.Cell
	for u := range uint32(users) {
		for k := range uint32(keys) {
			cells = append(cells, sample.Cell{User: u, Key: k, Events: 1 + k})
		}
	}
	told := []uint32{0, 1, 2, 3, 4, 5, 6}
	d := compiled(t, demo.Settings{Epsilon: 4, MaxKeysPerUser: most, MaxEventsPerKey: events, LastAtLeast: 4}, nil)
	f := of(t, same(1, 1, cells...), d, forecast.Options{Keys: told})
	const p = float64(most) / keys
	for i, k := range f.Keys {
		c := math.Min(float64(i+1), events)
		equal(t, "truth", k.Truth, float64(users*(i+1)))
		within(t, "counted", k.Truth-k.Bias, users*p*c, c*math.Sqrt(users*p*(1-p)))
	}
	equal(t, "counted, as kept", f.Counted, f.Kept)
}

// Standard errors are the spread of forecasts with other seeds, ratios included.
func TestStandardErrorsAreTheSpreadOfForecasts(t *testing.T) {
	d := compiled(t, demo.Settings{Epsilon: 4, MaxKeysPerUser: 1, MaxEventsPerKey: 1, LastAtLeast: 4}, nil)
	w := many(30, 20, 1)
	const runs, paths = 100, 20
	var sum, squares, said [4]float64
	for i := range runs {
		f := of(t, w, d, forecast.Options{Paths: paths, Seed: uint64(i * paths), Keys: []uint32{2}})
		for j, v := range [4][2]float64{{f.Shown, f.SE.Shown}, {f.Error, f.SE.Error}, {f.RelativeError, f.SE.RelativeError}, {f.Keys[0].Shown, f.Keys[0].SE.Shown}} {
			sum[j] += v[0] / runs
			squares[j] += v[0] * v[0] / runs
			said[j] += v[1] * v[1] / runs
		}
	}
	for j := range sum {
		// Variances of 100 and of 100 times 20: their ratio has a deviation of some 0.15.
		if ratio := said[j] / (squares[j] - sum[j]*sum[j]); ratio < .5 || ratio > 1.9 {
			t.Errorf("variance %d is said to be %v times what it is", j, ratio)
		}
	}
}

func TestForecastsRepeat(t *testing.T) {
	d := compiled(t, demo.Settings{Epsilon: 4, MaxKeysPerUser: 1, MaxEventsPerKey: 1, LastAtLeast: 4}, nil)
	w, o := many(30, 20, 1), forecast.Options{Paths: 9, Seed: 1, Keys: []uint32{3}}
	first := of(t, w, d, o)
	if again := of(t, w, d, o); !reflect.DeepEqual(first, again) {
		t.Errorf("%+v, then %+v", first, again)
	}
	if o.Seed = 100; reflect.DeepEqual(first, of(t, w, d, o)) {
		t.Error("another seed, the same forecast")
	}
	equal(t, "no windows", of(t, same(0, 1), d, forecast.Options{Paths: 2}).Truth, 0)
}

func TestWhatCannotBeForecastIsRefused(t *testing.T) {
	settings := demo.Settings{Epsilon: 1, MaxKeysPerUser: 1, MaxEventsPerKey: 1, LastAtLeast: 10, PublicKeys: []string{"k0"}}
	w := same(3, 1, sample.Cell{Events: 1})
	unnamed := same(3, 1, sample.Cell{Events: 1})
	unnamed.Names = nil
	other := sample.NewWindows(2*size, 0, 1, [][]sample.Cell{{{Events: 1}}})
	for name, c := range map[string]struct {
		w      *sample.Windows
		change func(*deployment.Config)
		keys   []uint32
	}{
		"slides":          {w, func(c *deployment.Config) { c.Metrics[0].Slide = size / 2 }, nil},
		"another size":    {other, nil, nil},
		"period too long": {w, func(c *deployment.Config) { c.Privacy.Period = 5 * size / 2 }, nil},
		"no names":        {unnamed, nil, nil},
		"no such key":     {w, nil, []uint32{1}},
		"sums": {w, func(c *deployment.Config) {
			m := &c.Metrics[0]
			m.Kind, m.Min, m.Max = metrickind.Sum, 0, 5
			c.Events.Format.Value = "v"
		}, nil},
	} {
		if _, err := forecast.Of(t.Context(), c.w, compiled(t, settings, c.change), forecast.Options{Keys: c.keys}); !errors.Is(err, forecast.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := forecast.Of(ended, w, compiled(t, settings, nil), forecast.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context: %v", err)
	}
}

// Where all users are alike and their count meets its target at the first precision u₁, a window
// costs c²·u₁, and admission still asks for c²·u_top: of windows
// ⌊(B² − c²·u_top)/(c²·u₁)⌋ + 1 are paid.
func TestUsersPayForThePrecisionThatWasNeeded(t *testing.T) {
	const users, c, windows = 3000, 3, 200
	d := compiled(t, demo.Settings{Epsilon: 1, MaxKeysPerUser: 1, MaxEventsPerKey: c, LastAtLeast: 5, PublicKeys: []string{"k0"}},
		func(cfg *deployment.Config) { cfg.Metrics[0].Ladder.FirstSigma = 100 })
	s := &d.Metrics[0].Spec
	worst, _ := units.Charge(c, s.Top)
	price, _ := units.Charge(c, s.First)
	paid := int((d.Budget.Mu2-worst)/price) + 1
	if paid <= 10 || paid >= windows {
		t.Fatalf("%d windows are paid: neither more than last_at_least, nor fewer than there are", paid)
	}
	var cells []sample.Cell
	for u := range uint32(users) {
		cells = append(cells, sample.Cell{User: u, Events: 5})
	}
	const rate = .25
	f := of(t, same(windows, rate, cells...), d, forecast.Options{Lost: []int{paid, paid + 1}})
	equal(t, "truth", f.Truth, windows*users*5/rate)
	equal(t, "counted", f.Counted, float64(paid)*users*c/rate)
	equal(t, "met", f.Met, float64(paid))
	equal(t, "lost while paid", f.Lost[0].Users, 0)
	equal(t, "lost afterwards", f.Lost[1].Users, users/rate)
}

// Contributions of thousands of events cost what those of few do in proportion.
func TestLargeContributionsArePaid(t *testing.T) {
	const events, windows = 3000, 100
	d := compiled(t, demo.Settings{Epsilon: 1, MaxKeysPerUser: 1, MaxEventsPerKey: 5000, LastAtLeast: 5, PublicKeys: []string{"k0"}}, nil)
	price, _ := units.Charge(events, d.Metrics[0].Spec.Top)
	f := of(t, same(windows, 1, sample.Cell{Events: events}), d, forecast.Options{})
	equal(t, "counted", f.Counted, float64(d.Budget.Mu2/price)*events)
}

// A period begins with a full account, of δ too, and with another choice of keys, also before
// 1970.
func TestPeriodsBeginAnew(t *testing.T) {
	const windows, long = 300, 100
	w := same(windows, 1, sample.Cell{Key: 0, Events: 1}, sample.Cell{Key: 1, Events: 2})
	w.Start = -long / 2 * size.Milliseconds() // of the first period half is seen, of the last, too
	change := func(c *deployment.Config) { c.Privacy.Period = long * size }
	private := compiled(t, demo.Settings{Epsilon: 1, MaxKeysPerUser: 2, MaxEventsPerKey: 1, LastAtLeast: 20}, change)
	f := of(t, w, private, forecast.Options{})
	equal(t, "counted", f.Counted, 4*20*2)

	public := compiled(t, demo.Settings{Epsilon: 1, MaxKeysPerUser: 1, MaxEventsPerKey: 2, LastAtLeast: long, PublicKeys: w.Names}, change)
	kept := map[float64]bool{}
	for seed := range uint64(200) {
		kept[of(t, w, public, forecast.Options{Seed: seed}).Kept] = true
	}
	// 50, 100, 100 and 50 windows of 1 or 2 events each: every sum of them comes up; by chance one
	// is missing once in 200,000 choices of seeds.
	for extra := 0.0; extra <= windows; extra += 50 {
		if !kept[windows+extra] {
			t.Errorf("kept %v of 200 choices of keys, and never %v", kept, windows+extra)
		}
	}
}

// A count that stops at the top, out of its target's reach, is within one deviation as often as a
// normal number, 0.683; what is printed is z·σ on each side.
func TestTheErrorOfAKeyIsNormal(t *testing.T) {
	d := compiled(t, demo.Settings{Epsilon: 1, MaxKeysPerUser: 1, MaxEventsPerKey: 1, LastAtLeast: 5, PublicKeys: []string{"k0"}}, nil)
	const paths = 3000
	sigma := 1 / math.Sqrt(d.Metrics[0].Spec.Top.Float())
	users := math.Round(10 * sigma)
	f := of(t, many(1, uint32(users), 1), d, forecast.Options{Paths: paths, Seed: 9, Keys: []uint32{0}})
	k := f.Keys[0]
	p := math.Erf(.1 * users / sigma / math.Sqrt2)
	within(t, "within", k.Within, p, math.Sqrt(p*(1-p)/paths))
	within(t, "error", f.Error, sigma*math.Sqrt(2/math.Pi), sigma*math.Sqrt((1-2/math.Pi)/paths))
	equal(t, "windows", k.Windows, 1)
	equal(t, "shown", k.Shown, 1)
	equal(t, "met", k.Met, 0)
	equal(t, "bias", k.Bias, 0)
	if z := k.Noise / sigma; z < 1.959 || z > 2.1 {
		t.Errorf("half of the interval is %v deviations", z)
	}
}
