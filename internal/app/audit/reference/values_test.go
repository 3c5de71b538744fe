package reference

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestThresholdOfTheTheoryPage(t *testing.T) {
	for _, k := range []struct {
		contribution uint32
		want         float64
	}{{1, 135.12}, {10, 135.12}, {100, 203.99}} { // from 2 to some 20 the price makes up for what is added
		m := testMetric("m", "private", 100)
		m.MaxEventsPerKey = k.contribution
		first := must.Have(units.PrecisionFromSigma(20))
		delta := must.Have(units.DeltaFromFloat(1e-11))
		m.First, m.DeltaKey = first, delta
		if got, _ := threshold(m).Float64(); math.Abs(got-k.want) > 0.01 {
			t.Errorf("τ at C = %d is %v, want %v", k.contribution, got, k.want)
		}
	}
}
