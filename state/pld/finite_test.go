package pld_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/pld"
)

// Probabilities need not add up to 1 to the last digit, but nothing is promised for
// what is missing.
func TestFiniteProbabilitiesThatDoNotAddUpAreNoBetter(t *testing.T) {
	const off = 9e-10
	half := []float64{0.5, 0.5}
	for name, c := range map[string]struct {
		pair    pld.Finite
		epsilon float64
		least   float64 // δ
	}{
		"with lacks some":           {pld.Finite{With: []float64{0.5, 0.5 - off}, Without: half}, 0.5, off * (1 - 1e-6)},
		"without lacks some":        {pld.Finite{With: half, Without: []float64{0.5, 0.5 - off}}, 0.5, off * (1 - 1e-6)},
		"without has too much":      {pld.Finite{With: []float64{0.9, 0.1}, Without: []float64{0.1 + off, 0.9}}, 1, 0.9 - math.E*0.1},
		"exact thirds of two kinds": {pld.Finite{With: []float64{1. / 3, 2. / 3}, Without: []float64{2. / 3, 1. / 3}}, math.Ln2, 0},
	} {
		d, err := pld.New(c.pair, pld.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.DeltaAt(c.epsilon)
		if err != nil || got < c.least || got > c.least+1e-3 {
			t.Errorf("%s: δ(%v) = %v, %v; want at least %v", name, c.epsilon, got, err, c.least)
		}
	}
}

// A probability below the normal float64 numbers, of which math.Log is 35 too high on some
// processors: the loss is ln(1/2^-1074) = 744.4, and δ(720) is 1 − e^(720−744.4).
func TestFiniteProbabilitiesBelowTheNormalNumbersHaveTheirLoss(t *testing.T) {
	for _, tiny := range []float64{5e-324, 1e-310, 0x1p-1022} {
		want := -math.Log(tiny*0x1p64) + 64*math.Ln2
		d := distribution(t, pld.Finite{With: []float64{tiny, 1}, Without: []float64{1, tiny}}, pld.Options{})
		for _, epsilon := range []float64{want - 24, want - 1} {
			if got, truth := deltaAt(t, d, epsilon), -math.Expm1(epsilon-want); got < truth*(1-1e-9) {
				t.Errorf("%v: δ(%v) = %v, want at least %v", tiny, epsilon, got, truth)
			}
		}
	}
}
