package descent

import (
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/testing/repeated"
)

// The golden files are from amd64: other architectures round sums differently.
func TestGolden(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("the golden files are of amd64, and this is %s", runtime.GOARCH)
	}
	for _, e := range Experiments() {
		found := repeated.File(t, "testdata/"+e.Name+".golden", e, repeated.Small)
		if e.Name == "descent-census" {
			repeated.OnOneProcessor(t, e, repeated.Small, found)
		}
	}
}

// The paper states 0.3, 0.5 and 1.0 with their parameters. The exact values are from the PLD
// accountant of dp_accounting 0.6.0 (pessimistic, three digits).
func TestCostsAreThoseOfThePaper(t *testing.T) {
	costs := privacy(promises)
	for i, want := range []struct{ paper, exact float64 }{{0.3007, 0.203}, {0.5005, 0.353}, {1.0044, 0.745},
		{1.2, 0.902}} {
		row := costs.Rows[i]
		if got := row[4].(float64); math.Abs(got-want.paper) > 5e-5 {
			t.Errorf("ε = %v: %v by the paper's conversion, not %v", row[0], got, want.paper)
		}
		if got := row[5].(float64); math.Abs(got-want.exact) > 5e-4 {
			t.Errorf("ε = %v: %v exactly, not %v", row[0], got, want.exact)
		}
		if p := promises[i]; math.Abs(math.Sqrt(40)/p.sigmaFor(40)-p.mu()) > 1e-12 {
			t.Errorf("ε = %v: another number of steps has another cost", row[0])
		}
	}
}

// Both stops end training at the first check with fewer than 80% active. With these numbers their
// noise misleads the count once in 10^9 checks, and sparse vector once in 10^3 (the seeds are
// fixed).
func TestTheStopsEndTrainingInTime(t *testing.T) {
	for seed := range uint64(50) {
		s := newStop(promises[0], experiment.Options{Seed: seed}, "test")
		sparse := newSparseStop(promises[0], 60_000, experiment.Options{Seed: seed}, "test")
		for look, active := range []int{60_000, 60_000, 58_000, 55_000, 44_000, 44_000, 20_000, 0} {
			end, err1 := s.now(60_000, active)
			ends, err2 := sparse.now(60_000, active)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			if late := look >= 4; end != late || ends != late {
				t.Errorf("seed %d, look %d, %d left: the count stops %v, sparse vector %v", seed, look, active, end,
					ends)
			}
		}
	}
}
