package conversion_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

func fromApprox(t interface{ Fatal(...any) }, a ...loss.Approx) conversion.TradeOff {
	f, err := conversion.FromApprox(a...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func must(t interface{ Fatal(...any) }) func(float64, error) float64 {
	return func(v float64, err error) float64 {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestOneGuaranteeComesBackExactly(t *testing.T) {
	for _, a := range []loss.Approx{{Epsilon: 1, Delta: 1e-300}, {Epsilon: 200, Delta: 1e-17}, {Epsilon: 0.5}, {Epsilon: 0, Delta: 0.1}, {Epsilon: 1e-300, Delta: 1e-6}, {Epsilon: 1e6, Delta: 0.5}} {
		f, value := fromApprox(t, a), must(t)
		if got := value(f.ToDelta(a.Epsilon)); got != a.Delta {
			t.Errorf("%v: δ = %v", a, got)
		}
		if got := value(f.ToEpsilon(a.Delta)); got != a.Epsilon {
			t.Errorf("%v: ε = %v", a, got)
		}
		// Kairouz, Oh and Viswanath: the total variation is δ + (1 − δ)·tanh(ε/2).
		want := a.Delta + (1-a.Delta)*math.Tanh(a.Epsilon/2)
		if got := value(f.ToDelta(0)); math.Abs(got-want) > 4e-16*want || got < want*(1-4e-16) {
			t.Errorf("%v: total variation %v, want %v", a, got, want)
		}
		if _, err := f.ToEpsilon(a.Delta / 2); a.Delta > 0 && err == nil {
			t.Errorf("%v: half its δ has an ε", a)
		}
	}
}

// anyGuarantees returns some (ε, δ) of one mechanism, in any order.
func anyGuarantees(t *rapid.T) []loss.Approx {
	var all []loss.Approx
	for range rapid.IntRange(1, 6).Draw(t, "guarantees") {
		a := loss.Approx{Epsilon: rapid.Float64Range(0, 12).Draw(t, "epsilon")}
		if !rapid.Bool().Draw(t, "pure") {
			a.Delta = math.Pow(10, rapid.Float64Range(-30, -0.1).Draw(t, "log delta"))
		}
		all = append(all, a)
	}
	return all
}

func TestManyGuaranteesImplyEachAndAllBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := anyGuarantees(t)
		f, value := fromApprox(t, all...), must(t)
		for _, a := range all {
			if got := value(f.ToDelta(a.Epsilon)); got > a.Delta {
				t.Fatalf("%v implied by %v has δ = %v", a, all, got)
			}
		}
		// Convexity of δ in e^ε (up to the float64 of the point between), its fall, and
		// the way back.
		x := rapid.Float64Range(0, 12).Draw(t, "x")
		y := x + rapid.Float64Range(0, 3).Draw(t, "apart")
		between := math.Log(math.Exp(x)/2 + math.Exp(y)/2)
		dx, dy, dm := value(f.ToDelta(x)), value(f.ToDelta(y)), value(f.ToDelta(between))
		if dy > dx || dm > (dx+dy)/2*(1+1e-12)+4e-15 {
			t.Fatalf("%v: δ(%v) = %v, δ(%v) = %v, between %v", all, x, dx, y, dy, dm)
		}
		if back := value(f.ToEpsilon(dx)); back > x+1e-9 {
			t.Fatalf("%v: δ(%v) = %v, back ε = %v", all, x, dx, back)
		} else if again := value(f.ToDelta(back)); again > dx {
			t.Fatalf("%v: ε = %v for δ = %v has δ = %v", all, back, dx, again)
		}
		// The conjugate on a grid is never above, the curve never beaten.
		for alpha := 0.0; alpha <= 1; alpha += 0.01 {
			beta := value(f.TypeIIAt(alpha))
			if 1-beta-math.Exp(x)*alpha > dx*(1+1e-12)+1e-14 {
				t.Fatalf("%v: a test at α = %v gives more than δ(%v) = %v away", all, alpha, x, dx)
			}
		}
	})
}

func TestGaussianCurveIsItsOwnInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mu := math.Exp(rapid.Float64Range(-6, 2).Draw(t, "log mu"))
		alpha := math.Pow(10, rapid.Float64Range(-20, -0.01).Draw(t, "log alpha"))
		f, err := conversion.FromGDP(loss.GDP{Mu: mu})
		value := must(t)
		beta := value(f.TypeIIAt(alpha))
		if err != nil || beta > 1-alpha {
			t.Fatalf("f(%v) = %v, %v", alpha, beta, err)
		}
		if back := value(f.TypeIIAt(beta)); beta < 0.999 && beta > 0 && math.Abs(back-alpha) > 1e-11*alpha+2e-16/math.Exp(-mu*(mu+8)) {
			t.Fatalf("μ = %v: f(%v) = %v, f of that %v", mu, alpha, beta, back)
		}
	})
}

// samples returns points on the curve of μ-GDP, rounded down.
func samples(t *testing.T, mu, step float64) (conversion.TradeOff, []conversion.Point) {
	t.Helper()
	f, err := conversion.FromGDP(loss.GDP{Mu: mu})
	if err != nil {
		t.Fatal(err)
	}
	var points []conversion.Point
	for z := -5.0; z <= 5; z += step {
		alpha := math.Erfc(z/math.Sqrt2) / 2
		beta, err := f.TypeIIAt(alpha)
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, conversion.Point{Alpha: alpha, Beta: beta})
	}
	return f, points
}

func TestSamplesNeverPromiseMoreThanTheirCurve(t *testing.T) {
	mus := []float64{1, 0.3, 3}
	if testing.Short() {
		mus = mus[:1]
	}
	for _, mu := range mus {
		f, points := samples(t, mu, 0.25)
		sampled, err1 := conversion.FromPoints(points)
		fine := []conversion.Point(nil)
		if !testing.Short() {
			_, fine = samples(t, mu, 0.05)
		}
		finely, err2 := conversion.FromPoints(append(fine, points...))
		drawn, err3 := conversion.FromCorners(append([]conversion.Point{{Alpha: 0, Beta: 1}}, points...))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		value := must(t)
		flattered := false
		for _, epsilon := range []float64{0, 0.2, 1, 2} {
			truth, sample := value(f.ToDelta(epsilon)), value(sampled.ToDelta(epsilon))
			if sample < truth || value(finely.ToDelta(epsilon)) < truth {
				t.Errorf("μ = %v, ε = %v: samples promise δ = %v, the truth is %v", mu, epsilon, sample, truth)
			}
			if value(finely.ToDelta(epsilon)) > sample {
				t.Errorf("μ = %v, ε = %v: more samples promise less", mu, epsilon)
			}
			flattered = flattered || value(drawn.ToDelta(epsilon)) < truth
		}
		if !flattered {
			t.Errorf("μ = %v: lines through samples are expected to promise too much: the test does not bite", mu)
		}
		for alpha := 0.01; alpha < 1; alpha += 0.07 {
			if value(sampled.TypeIIAt(alpha)) > value(f.TypeIIAt(alpha)) {
				t.Errorf("μ = %v: samples promise more at α = %v", mu, alpha)
			}
		}
	}
}

// anyPolygon returns corners of a curve below 1 − α, the first at α = 0.
func anyPolygon(t *rapid.T) []conversion.Point {
	points := []conversion.Point{{Alpha: 0, Beta: rapid.SampledFrom([]float64{1, 0.99, 0.5}).Draw(t, "first")}}
	for range rapid.IntRange(0, 5).Draw(t, "corners") {
		alpha := rapid.Float64Range(0.001, 0.999).Draw(t, "alpha")
		points = append(points, conversion.Point{Alpha: alpha, Beta: (1 - alpha) * rapid.Float64Range(0, 1).Draw(t, "share")})
	}
	return points
}

func TestPolygonsAgreeWithTheirConjugateOnAGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := anyPolygon(t)
		f, err := conversion.FromCorners(points)
		if err != nil {
			t.Fatal(err)
		}
		value := must(t)
		epsilon := rapid.Float64Range(0, 8).Draw(t, "epsilon")
		delta := value(f.ToDelta(epsilon))
		best, last := 0.0, math.Inf(1)
		grid := points
		for alpha := 0.0; alpha <= 1; alpha += 1.0 / 256 {
			grid = append(grid, conversion.Point{Alpha: alpha})
		}
		for _, p := range grid {
			best = max(best, 1-value(f.TypeIIAt(p.Alpha))-math.Exp(epsilon)*p.Alpha)
		}
		if math.Abs(best-delta) > 1e-12 {
			t.Fatalf("%v: δ(%v) = %v, on the corners %v", points, epsilon, delta, best)
		}
		for alpha := 0.0; alpha <= 1; alpha += 1.0 / 64 {
			beta := value(f.TypeIIAt(alpha))
			if beta > last || beta > 1-alpha {
				t.Fatalf("%v: f(%v) = %v", points, alpha, beta)
			}
			last = beta
		}
		for _, p := range points {
			if value(f.TypeIIAt(p.Alpha)) > p.Beta {
				t.Fatalf("%v: f(%v) is above its corner", points, p.Alpha)
			}
		}
		if back, err := f.ToEpsilon(delta); err == nil && (back > epsilon*(1+1e-9)+1e-9 || value(f.ToDelta(back)) > delta*(1+1e-12)+1e-40) {
			t.Fatalf("%v: δ(%v) = %v, back ε = %v", points, epsilon, delta, back)
		} else if err != nil && delta >= 1-points[0].Beta && delta < 1 {
			t.Fatalf("%v: δ = %v has no ε: %v", points, delta, err)
		}
	})
}

// At every α the Gaussian curve through (α, f(α)) is that of Φ⁻¹(1 − α) + Φ⁻¹(1 − f(α)):
// the least μ is the greatest of these.
func TestLeastGaussianIsBelowTheCurveAndTouchesIt(t *testing.T) {
	for _, all := range [][]loss.Approx{
		{{Epsilon: 1}},
		{{Epsilon: 3}, {Epsilon: 1, Delta: 0.05}},
		{{Epsilon: 8}, {Epsilon: 2, Delta: 1e-3}, {Epsilon: 0.5, Delta: 0.1}, {Epsilon: 0, Delta: 0.3}},
		{{Epsilon: 1e-3}, {Epsilon: 0, Delta: 1e-4}},
	} {
		f, value := fromApprox(t, all...), must(t)
		g, err := f.ToGDP()
		if err != nil {
			t.Fatal(err)
		}
		through := func(s float64) float64 {
			alpha := math.Exp(s)
			return math.Sqrt2 * (math.Erfcinv(2*alpha) + math.Erfcinv(2*value(f.TypeIIAt(alpha))))
		}
		at, best := 0.0, math.Inf(-1)
		for s := -16.0; s < -0.1; s += 0.05 {
			if m := through(s); m > best {
				at, best = s, m
			}
		}
		a, b := at-0.05, at+0.05
		for range 40 {
			x, y := a+(b-a)*0.382, a+(b-a)*0.618
			if through(x) > through(y) {
				b = y
			} else {
				a = x
			}
		}
		best = max(best, through((a+b)/2))
		if math.Abs(best-g.Mu) > 1e-7*g.Mu {
			t.Errorf("%v: μ = %v, but through its points go curves of up to %v", all, g.Mu, best)
		}
	}
}

func TestNoGaussianCoversACertainEvent(t *testing.T) {
	for name, f := range map[string]func() (conversion.TradeOff, error){
		"delta": func() (conversion.TradeOff, error) {
			return conversion.FromApprox(loss.Approx{Epsilon: 1, Delta: 1e-300})
		},
		"alpha": func() (conversion.TradeOff, error) {
			return conversion.FromCorners([]conversion.Point{{Alpha: 0, Beta: 1}, {Alpha: 0.5, Beta: 0}})
		},
	} {
		curve, err := f()
		if err != nil {
			t.Fatal(err)
		}
		var out *units.RangeError
		if _, err := curve.ToGDP(); !errors.As(err, &out) || out.Parameter != name {
			t.Errorf("%v is not a *RangeError that names %s", err, name)
		}
	}
}

func TestRenyiOfACurveIsThatOfItsPair(t *testing.T) {
	orders := []float64{1.001, 1.5, 2, 7, 100, 1e5, 1e70}
	for _, epsilon := range []float64{0.01, 1, 30, 200} {
		want, err1 := conversion.PureToRDP(epsilon, orders)
		got, err2 := fromApprox(t, loss.Approx{Epsilon: epsilon}).ToRDP(orders)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		for i := range want {
			if math.Abs(got[i].Epsilon-want[i].Epsilon) > 1e-15*want[i].Epsilon {
				t.Errorf("ε = %v, order %v: %v, want %v", epsilon, orders[i], got[i].Epsilon, want[i].Epsilon)
			}
		}
	}
	// Three outcomes: P = (.5, .3, .2), Q = (.2, .3, .5), its curve through (0.2, 0.5)
	// and (0.5, 0.2); D_2 = ln Σ P²/Q.
	f, err := conversion.FromCorners([]conversion.Point{{Alpha: 0, Beta: 1}, {Alpha: 0.2, Beta: 0.5}, {Alpha: 0.5, Beta: 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.ToRDP([]float64{2})
	if want := math.Log(0.25/0.2 + 0.3 + 0.04/0.5); err != nil || math.Abs(r[0].Epsilon-want) > 1e-15 {
		t.Errorf("D_2 = %v, %v; want %v", r, err, want)
	}
	// The Gaussian's own curve is below its samples' hull, its divergences above.
	r, err = fromApprox(t, loss.Approx{Epsilon: 1, Delta: 1e-9}).ToRDP([]float64{2})
	if err != nil || !math.IsInf(r[0].Epsilon, 1) {
		t.Errorf("a certain event has D_2 = %v, %v", r, err)
	}
}

func TestZeroTradeOffPromisesNothing(t *testing.T) {
	var f conversion.TradeOff
	value := must(t)
	if b := value(f.TypeIIAt(0)); b != 0 {
		t.Errorf("f(0) = %v", b)
	}
	if d := value(f.ToDelta(5)); d != 1 {
		t.Errorf("δ = %v", d)
	}
	if e, err := f.ToEpsilon(0.999); err == nil {
		t.Errorf("ε = %v", e)
	}
	if g, err := f.ToGDP(); err == nil {
		t.Errorf("μ = %v", g)
	}
	if r, err := f.ToRDP([]float64{2}); err != nil || !math.IsInf(r[0].Epsilon, 1) {
		t.Errorf("%v, %v", r, err)
	}
}
