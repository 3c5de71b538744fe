package main

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/google/differential-privacy/go/v3/noise"
)

// What Privacy on Beam is given where its parts are composed by hand has the noise of the promise:
// Gaussian noise of n parts, each √n times the deviation of one under the whole promise.
func TestPartsComposedByHandFitThePromise(t *testing.T) {
	for _, kind := range []string{"mean", "variance"} {
		s := beamSetting{pairs: 12, events: 2, composed: true}
		mu2 := parts(kind) * 12 * 4 / (s.sigma(kind) * s.sigma(kind))
		want := 1 / noise.SigmaForGaussian(1, 1, epsilon, delta)
		// Privacy on Beam searches for its deviations, to about a thousandth.
		if mu := math.Sqrt(mu2); math.Abs(mu/want-1) > 0.002 {
			t.Errorf("%s: the parts have μ = %v, and the promise %v", kind, mu, want)
		}
		if divided := (beamSetting{pairs: 12, events: 2}).sigma(kind); divided <= s.sigma(kind) {
			t.Errorf("%s: a divided promise has a deviation of %v, and composed by hand %v", kind, divided, s.sigma(kind))
		}
	}
}

func TestRankErrorsAreDistancesFromTheQuantile(t *testing.T) {
	values := []float64{1, 2, 2, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct{ released, rank, want float64 }{
		{2, 0.1, 0}, {2, 0.4, 0}, {2, 0.5, 0.1}, {2, 0.05, 0.05}, {2.5, 0.4, 0}, {2.5, 0.5, 0.1}, {0, 0.5, 0.5}, {9, 0.99, 0.01}, {8, 1, 0}, {8, 0.99, 0},
	} {
		if got := rankError(values, c.released, c.rank); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v for rank %v: %v, want %v", c.released, c.rank, got, c.want)
		}
	}
}

func TestTheSearchMovesUntilNoMoveHelps(t *testing.T) {
	best := []int{3, 0, 5}
	calls := 0
	got, err := search([]int{4, 3, 6}, func(p []int) (float64, error) {
		calls++
		sum := 0.0
		for i := range p {
			sum += math.Abs(float64(p[i] - best[i]))
		}
		return sum, nil
	})
	if err != nil || !slices.Equal(got, best) || calls > 4*3*6 {
		t.Errorf("%v after %d calls (%v), want %v", got, calls, err, best)
	}
}

// Both sides have the same events at every call, within the bounds of the rows that admit all of
// them, and bounds leave what they say.
func TestTheValuesAreTheSameForBothSides(t *testing.T) {
	a, b := newValueData(), newValueData()
	if !reflect.DeepEqual(a.events, b.events) {
		t.Fatal("the data differ from call to call")
	}
	total := 0
	for _, cell := range publicCells() {
		total += len(a.cells[cell])
	}
	if total != len(a.events) || total != a.total || len(a.cells) != len(publicCells()) {
		t.Errorf("%d events in %d cells, want %d in %d", total, len(a.cells), len(a.events), len(publicCells()))
	}
	cells, left := a.bounded(keysAtMost*valueWindows, eventsAtMost, 0)
	for cell, values := range cells {
		if slices.Sort(values); !slices.Equal(values, a.cells[cell]) {
			t.Fatalf("cell %s loses events to bounds that admit all", cell)
		}
	}
	if left != a.total {
		t.Errorf("%d of %d events are left", left, a.total)
	}
	pairs := 0
	for _, did := range a.users {
		pairs += min(3, len(did))
	}
	if _, left := a.bounded(3, 1, 0); left != pairs {
		t.Errorf("%d events within 3 pairs of one event, want %d", left, pairs)
	}
}
