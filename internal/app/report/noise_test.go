package report

import (
	"math"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// The noise is said of the largest values that make up half of their total, and not of means.
func TestThePageSaysHowLargeTheNoiseTypicallyIs(t *testing.T) {
	t.Parallel()
	s := &series{}
	for _, p := range []struct{ value, sigma float64 }{{1000, 100}, {-900, 180}, {800, 80}, {300, 3000}, {0, 7}} {
		s.points = append(s.points, point{value: int64(p.value * unit), sigma: p.sigma})
	}
	of := func(kind string) metricFacts {
		return metricFacts{known: true, MetricSpec: schemas.MetricSpec{Kind: kind}}
	}
	// 1000 and 900 hold half: 10 and 20 % of σ, of which the median of normal noise is 0.6745.
	if text := s.typicalNoise(of(metrickind.Events)); !strings.HasPrefix(text, "The noise to expect is typically 10 % of a value;") {
		t.Errorf("%q", text)
	}
	if got := math.Erf(middle / math.Sqrt2); math.Abs(got-0.5) > 1e-4 {
		t.Errorf("noise is smaller than that in %v of cases", got)
	}
	if text := s.typicalNoise(of(metrickind.Mean)); text != "" {
		t.Errorf("of means: %q", text)
	}
	s.points = s.points[4:]
	if text := s.typicalNoise(of(metrickind.Events)); text != "" {
		t.Errorf("of zeros: %q", text)
	}
}
