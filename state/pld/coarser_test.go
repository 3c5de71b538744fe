package pld_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// Losses that need more points than a grid may have go to a coarser grid if no interval was
// requested. Each case is a *SizeError with the first interval, and the result is above the exact
// one, of all noise together.
func TestACompositionThatDoesNotFitTakesACoarserGrid(t *testing.T) {
	type part struct {
		sigma float64
		count int
	}
	for _, c := range []struct {
		parts  []part
		points int
		finest float64 // default intervals of the parts
		within float64
	}{
		{[]part{{0.02, 40}, {1000, 1}}, 0, 0x1p-16, 1.001},
		{[]part{{1, 100}}, 1 << 18, 0x1p-13, 1.0001},
		{[]part{{1, 100}, {30, 1000}, {1000, 10}}, 1 << 16, 0x1p-16, 1.001},
		{[]part{{0.5, 100}}, 1 << 10, 0x1p-3, 1.1},
		{[]part{{1, 1}}, 32, 1, 1.5},
	} {
		whole := func(interval float64) *pld.Distribution {
			var all []*pld.Distribution
			for _, p := range c.parts {
				one, err := pld.New(pld.Gaussian{Sigma: p.sigma}, pld.Options{Interval: interval, MinDelta: 1e-9,
					MaxPoints: c.points})
				if err != nil && interval > 0 {
					return nil
				}
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, must.Have(one.Power(p.count)))
			}
			return must.Have(all[0].Compose(all[1:]...))
		}
		if d := whole(c.finest); d != nil && c.finest < 1 {
			if _, err := d.EpsilonAt(1e-6); !errors.As(err, new(*pld.SizeError)) {
				t.Errorf("%v: an interval of %v is enough (%v): take others", c.parts, c.finest, err)
			}
		}
		square := 0.0
		for _, p := range c.parts {
			square += float64(p.count) / (p.sigma * p.sigma)
		}
		mu := math.Sqrt(square)
		exact := must.Have(conversion.GDPToEpsilon(loss.GDP{Mu: mu}, 1e-6))
		d := whole(0)
		if got := must.Have(d.EpsilonAt(1e-6)); !(got >= exact*(1-1e-12) && got < exact*c.within) {
			t.Errorf("%v, %d points: ε = %v, exact %v", c.parts, c.points, got, exact)
		}
		for _, epsilon := range []float64{exact / 2, exact * 0.9} {
			truth := must.Have(conversion.GDPToDelta(loss.GDP{Mu: mu}, epsilon))
			if got := must.Have(d.DeltaAt(epsilon)); !(got >= truth*(1-1e-12)) {
				t.Errorf("%v, %d points: δ(%v) = %v, exact %v", c.parts, c.points, epsilon, got, truth)
			}
		}
	}
}

// One part's interval was requested and is the finest: no coarser one helps. A grid for one δ
// raises ε by about its tolerance. (It may lower ε: the tilt is chosen for the δ.)
func TestOneDeltaTakesACoarserGrid(t *testing.T) {
	for _, pair := range []pld.Pair{
		pld.Gaussian{Sigma: 8}, pld.SubsampledGaussian{Sigma: 1, Sampling: 0.01}, pld.Laplace{Scale: 9},
		pld.DiscreteGaussian{Sigma: 9, Sensitivity: 1}, pld.RandomizedResponse{Epsilon: 0.1, Values: 5},
	} {
		for _, delta := range []float64{0.1, 1e-6, 1e-9} {
			fine := must.Have(must.Have(must.Have(pld.New(pair, pld.Options{})).Power(40)).EpsilonAt(delta))
			one := must.Have(must.Have(must.Have(pld.New(pair, pld.Options{Delta: delta,
				MinDelta: delta * 1e-6})).Power(40)).EpsilonAt(delta))
			if !(one >= fine*(1-1e-3) && one <= fine*(1+1e-4)) {
				t.Errorf("%+v at %v: %v, on the finer grid %v", pair, delta, one, fine)
			}
		}
	}
}

func TestAnIntervalThatWasAskedForStays(t *testing.T) {
	asked := must.Have(pld.New(pld.Gaussian{Sigma: 1}, pld.Options{Interval: 0x1p-13, MaxPoints: 1 << 18}))
	chosen := must.Have(pld.New(pld.Gaussian{Sigma: 1}, pld.Options{MaxPoints: 1 << 18}))
	size := new(*pld.SizeError)
	if _, err := must.Have(must.Have(asked.Power(100)).Compose(chosen)).EpsilonAt(1e-6); !errors.As(err, size) ||
		(*size).Interval != 0x1p-13 {
		t.Errorf("%v: want a *SizeError at 2^-13", err)
	}
	if _, err := must.Have(asked.Compose(must.Have(chosen.Power(100)))).EpsilonAt(1e-6); !errors.As(err, size) {
		t.Errorf("%v: want a *SizeError", err)
	}
}
