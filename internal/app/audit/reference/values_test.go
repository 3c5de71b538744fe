package reference

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/units"
)

func TestThresholdOfTheTheoryPage(t *testing.T) {
	for _, k := range []struct {
		contribution uint32
		want         float64
	}{{1, 135.12}, {10, 135.12}, {100, 203.99}} { // from 2 to some 20 the price makes up for what is added
		m := testMetric("m", "private", 100)
		m.MaxEventsPerKey = k.contribution
		first, err := units.PrecisionFromSigma(20)
		if err != nil {
			t.Fatal(err)
		}
		delta, err := units.DeltaFromFloat(1e-11)
		if err != nil {
			t.Fatal(err)
		}
		m.First, m.DeltaKey = first, delta
		if got, _ := threshold(m).Float64(); math.Abs(got-k.want) > 0.01 {
			t.Errorf("τ at C = %d is %v, want %v", k.contribution, got, k.want)
		}
	}
}
