package metrickind

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// An entry that leaves something out would be missed by those who read a page or run a deployment;
// here it is found when it is written.
func TestEveryEntryIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range All() {
		if k.Name == "" || k.Name != strings.ToLower(k.Name) || seen[k.Name] {
			t.Errorf("name %q: lower case, and used once", k.Name)
		}
		seen[k.Name] = true
		if k.Range == nil {
			t.Fatalf("%s: no Range", k.Name)
		}
		if byEvents := !k.Values() && !k.Derived(); byEvents != (k.Contribution != nil) {
			t.Errorf("%s: Contribution is for kinds without Values that are not derived", k.Name)
		}
		if k.Derived() && (k.Values() || k.EventBound() || k.NotPrivate != "") {
			t.Errorf("%s: a derived kind takes no events and has no keys of its own", k.Name)
		}
		x := k.Texts
		if x.Label == "" || x.Value == "" {
			t.Errorf("%s: a text of the page is missing: %+v", k.Name, x)
		}
		if (x.Counted == "") != k.Derived() {
			t.Errorf("%s: Counted %q: every kind that can be configured has one", k.Name, x.Counted)
		}
		if k.Values() != (x.Verb != "") {
			t.Errorf("%s: verb %q: for kinds with Values", k.Name, x.Verb)
		}
	}
}

// Definitions and headers of deployments that run have these names.
func TestNamesAreThoseOfRunningDeployments(t *testing.T) {
	for i, name := range []string{"events", "distinct_users", "sum", "mean", "mean_offset", "counted", "variance",
		"standard_deviation", "mean_square"} {
		if all := All(); len(all) <= i || !slices.Contains(Names(all), name) {
			t.Errorf("no kind %q", name)
		}
	}
	if Offered()[0].Name != "events" {
		t.Errorf("the default is %q: configurations without a kind would change their meaning", Offered()[0].Name)
	}
	shares := 0
	for _, k := range All() {
		if k.Share {
			shares++
		}
		for _, extra := range k.Extra() {
			if extra.Part == nil || extra.Value == nil {
				t.Errorf("%s: %s is no component", k.Name, extra.Name)
			}
		}
		if extra := k.Extra(); len(extra) >= MaxComponents || k.Vector != nil && len(extra) == 0 {
			t.Errorf("%s: %d further components", k.Name, len(extra))
		}
	}
	if shares != 1 {
		t.Errorf("%d kinds of shares: a configuration takes Sharing, so there must be one", shares)
	}
}

func TestKindsInTheUnitOfValues(t *testing.T) {
	var have []string
	for _, k := range All() {
		if k.HasUnit() {
			have = append(have, k.Name)
		}
	}
	if want := strings.Fields("sum mean variance standard_deviation quantile bucket_share also_mean also_variance " +
		"also_standard_deviation"); !slices.Equal(have, want) {
		t.Errorf("%v", have)
	}
}

func TestAKindThatIsNotInTheTable(t *testing.T) {
	k, ok := Find("median")
	if ok || k.Name != "" {
		t.Errorf("found %+v", k)
	}
	k = Of("median")
	if c := k.Sensitivity(Bounds{Events: 1}); k.Name != "median" || c < 1<<62 || k.Values() || k.Derived() {
		t.Errorf("sensitivity %d of %+v", c, k)
	}
}

// A user's contribution lies in the range behind price and threshold, and reaches its ends.
func TestContributionsStayInTheirRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(Counting()).Draw(t, "kind")
		b := Bounds{Events: rapid.Int64Range(1, 1<<30).Draw(t, "bound")}
		events := rapid.Uint64Range(1, 1<<40).Draw(t, "events")
		counted, total := k.Contribution(events, b)
		least, greatest := k.Range(b)
		if counted < 1 || counted > events || total < least || total > greatest {
			t.Fatalf("%s: %d of %d events give %d, outside of %d to %d", k.Name, counted, events, total, least,
				greatest)
		}
		if _, most := k.Contribution(1<<40, b); most != greatest || k.Sensitivity(b) != greatest {
			t.Fatalf("%s: very many events give %d, the greatest is %d, the sensitivity %d", k.Name, most, greatest,
				k.Sensitivity(b))
		}
		if _, more := k.Contribution(1<<40, Bounds{Events: b.Events + 1}); (more != greatest) != k.EventBound() {
			t.Fatalf("%s: a greater event bound gives %d after %d, and EventBound is %v", k.Name, more, greatest,
				k.EventBound())
		}
	})
}

// Values are clamped and added up: the ends of a range are so many values at one end, for each
// component, and no choice of values leads out of it.
func TestRangeOfValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(Valued()).Draw(t, "kind")
		b := Bounds{Events: rapid.Int64Range(1, 5).Draw(t, "events")}
		b.Min = rapid.Int64Range(-20, 20).Draw(t, "min")
		b.Max = rapid.Int64Range(b.Min, 20).Draw(t, "max")
		for _, c := range append([]Kind{k}, k.Extra()...) {
			var least, greatest, most int64
			for n := range b.Events {
				for value := b.Min; value <= b.Max; value++ {
					adds := (n + 1) * c.Value(value, b)
					least, greatest = min(least, adds), max(greatest, adds)
				}
			}
			most = max(-least, greatest)
			if low, high := c.Range(b); low > least || high < greatest || c.Sensitivity(b) != most {
				t.Fatalf("%s: %d to %d, sensitivity %d; want %d to %d", c.Name, low, high, c.Sensitivity(b), least,
					greatest)
			}
			if k.Vector != nil && c.Name != k.Name && c.Square(b).Int64() != (most/b.Events)*(most/b.Events) {
				t.Fatalf("%s: one event adds at most the root of %v, want %d", c.Name, c.Square(b), most/b.Events)
			}
		}
	})
}

// Forecasts of a value of several components and its interval equal the release, up to rounding to
// units of a value.
func TestAnImitatedVectorIsTheReleasedOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, k := range All() {
			if k.Vector == nil {
				continue
			}
			b := Bounds{Events: 1, Min: rapid.Int64Range(-1000, 1000).Draw(t, "min")}
			b.Max = b.Min + rapid.Int64Range(1, 2000).Draw(t, "range")
			d := Drawn{HalfWidth: rapid.Float64Range(0.5, 3).Draw(t, "width")}
			exact := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
			c := Components{HalfWidth: exact(d.HalfWidth)}
			for i, kind := range append([]Kind{k}, k.Extra()...) {
				most := float64(kind.Sensitivity(b))
				d.Values[i] = rapid.Float64Range(-1000*most, 1000*most).Draw(t, "value")
				if d.Variances[i] = rapid.Float64Range(0.1, 1e4).Draw(t, "variance") * most * most; i == 0 {
					d.Values[i] = max(d.Values[i], -d.Values[i]/8) // mostly above 0
				}
				c.Of = append(c.Of, Component{exact(d.Values[i]), exact(d.Variances[i])})
			}
			if a := d.Values[0]*d.Values[0] - d.HalfWidth*d.HalfWidth*d.Variances[0]; math.Abs(a) <
				1e-6*d.Values[0]*d.Values[0] {
				t.Skip("floating point cannot tell whether the interval is bounded")
			}
			want := k.Vector.Join(b, c)
			got := k.Vector.Imitate(b, d)
			for i, diff := range []float64{got.Value - float64(want.Value)/valueUnits, got.Low - want.Low,
				got.High - want.High} {
				if math.Abs(diff) > 2.0/valueUnits {
					t.Fatalf("%s: %+v, released is %+v: number %d differs by %v", k.Name, got, want, i, diff)
				}
			}
		}
	})
}

// An end of an interval that is zero is published as 0, never as −0: its bytes are compared with
// those that another program computes.
func TestAnEndThatIsZeroHasNoSign(t *testing.T) {
	join := Of("mean").Vector.Join
	for _, bounds := range []Bounds{{Min: -5, Max: 0}, {Min: 0, Max: 5}, {Min: -5, Max: 5}} {
		for _, first := range []int64{-3, 0, 1, 1000, 1 << 40} {
			for _, second := range []int64{-10_000, -1, 0, 1, 10_000} {
				e := join(bounds, Components{HalfWidth: big.NewRat(2, 1), Of: []Component{
					{big.NewRat(first, 1), big.NewRat(4, 1)}, {big.NewRat(second*max(first, 1), 1), big.NewRat(100, 1)},
				}})
				if (e.Low == 0 && math.Signbit(e.Low)) || (e.High == 0 && math.Signbit(e.High)) {
					t.Errorf("%+v, components %d and %d: from %v to %v", bounds, first, second, e.Low, e.High)
				}
			}
		}
	}
}

// An interval beyond all possible values is not cut to an end, where it would have no width and
// seem exact.
func TestAnIntervalBeyondWhatCanBeSaysNothing(t *testing.T) {
	draws := func(values ...int64) (c Components) {
		c.HalfWidth = big.NewRat(2, 1)
		for _, v := range values {
			c.Of = append(c.Of, Component{big.NewRat(v, 1), big.NewRat(1, 1)})
		}
		return c
	}
	b := Bounds{Min: 0, Max: 10}
	for _, c := range []struct {
		kind       string
		components Components
		high       float64
	}{
		{Mean, draws(100, 1100), 10}, {Mean, draws(100, -1100), 10},
		{Variance, draws(100, 0, -11_000), 25}, {Variance, draws(100, 0, 11_000), 25},
		// (Q/N + 100 − 2·8²)/8 is below 0
		{Variance, draws(100, 800, -5000), 25}, {StandardDeviation, draws(100, 800, -5000), 5},
	} {
		if e := Of(c.kind).Vector.Join(b, c.components); e.Low != 0 || e.High != c.high || e.StdDev != c.high/2 {
			t.Errorf("%s of %v: %+v, want an interval from 0 to %v", c.kind, c.components.Of, e, c.high)
		}
		var d Drawn
		for i, component := range c.components.Of {
			d.Values[i], _ = component.Value.Float64()
			d.Variances[i] = 1
		}
		d.HalfWidth = 2
		if got := Of(c.kind).Vector.Imitate(b, d); got.Low != 0 || got.High != c.high {
			t.Errorf("%s of %v is imitated as %+v", c.kind, c.components.Of, got)
		}
	}
}
