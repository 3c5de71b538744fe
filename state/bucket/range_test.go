package bucket_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestNumbersOutOfRangeAreNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	small := bucket.Options{Interval: 0x1p-6, Points: 1 << 10}
	pairs := []pld.Pair{pld.Gaussian{Sigma: 4}, pld.Gaussian{Sigma: 8}}
	table := newTable(t, small, pairs...)
	curve := curveOf(t, table, 1, 1)
	gate := must.Have(bucket.NewGate(table, bucket.Budget{Mu: 1, Slack: 1e-6}))
	l := must.Have(bucket.NewGeometricLadder(4, 8, 2))
	check := func(name string, err error) {
		t.Helper()
		var out *units.RangeError
		if !errors.As(err, &out) || out.Parameter != name {
			t.Errorf("%v, want a *units.RangeError that names %s", err, name)
		}
	}
	second := func(v float64, err error) error {
		if math.IsNaN(v) {
			t.Errorf("NaN beside %v", err)
		}
		return err
	}
	for _, v := range []float64{nan, inf, -inf, -1} {
		check("epsilon", second(curve.DeltaAt(v)))
		check("epsilon", second(curve.ErrorAt(v)))
	}
	for _, v := range []float64{nan, inf, -1, 0, 1, 2} {
		check("delta", second(curve.EpsilonAt(v)))
		check("slack", second(curve.SmallestMu(v)))
		check("delta", second(gate.EpsilonAt(v)))
	}
	check("delta", second(gate.EpsilonAt(1e-6)))
	check("epsilon", second(gate.DeltaAt(nan)))
	for _, v := range []float64{nan, inf, -1, 0, 129} {
		check("mu", errorOf(curve.CoveredBy(v, 1e-6)))
		check("mu", errorOf(bucket.NewGate(table, bucket.Budget{Mu: v, Slack: 1e-6})))
	}
	for _, v := range []float64{nan, inf, -1, 0, 1} {
		check("slack", errorOf(bucket.NewGate(table, bucket.Budget{Mu: 1, Slack: v})))
		check("slack", errorOf(curve.CoveredBy(1, v)))
	}
	for _, v := range []float64{nan, -1, 0, 3.99} {
		check("sigma", errorOf(l.Bucket(v)))
	}
	for _, v := range []float64{nan, inf, -1, 0} {
		check("sigma", errorOf(bucket.NoiseFor(v, 1)))
		check("lowest sigma", errorOf(bucket.NewGeometricLadder(v, 8, 2)))
		check("highest sigma", errorOf(bucket.NewGeometricLadder(4, v, 2)))
		check("sampling", errorOf(l.Pairs(v)))
	}
	for _, v := range []float64{nan, inf, -1} {
		check("contribution", errorOf(bucket.NoiseFor(1, v)))
	}
	check("levels", errorOf(bucket.NewGeometricLadder(4, 8, 1)))
	check("levels", errorOf(bucket.NewGeometricLadder(1, math.Nextafter(1, 2), 3)))
	check("pairs", errorOf(bucket.NewTable(nil, small)))
	check("sigma", errorOf(bucket.NewTable([]pld.Pair{pld.Gaussian{Sigma: nan}}, small)))
	check("interval", errorOf(bucket.NewTable(pairs, bucket.Options{Interval: 0.3})))
	check("points", errorOf(bucket.NewTable(pairs, bucket.Options{Points: 1000})))
	check("tail", errorOf(bucket.NewTable(pairs, bucket.Options{Tail: nan})))
	check("buckets", curve.Set(bucket.Counts{1}))
	check("count", curve.Set(bucket.Counts{1 << 30, 1 << 30}))
	check("bucket", table.NewCounts().Add(2))
	check("bucket", table.NewCounts().Add(-1))
	check("count", bucket.Counts{math.MaxUint32, 0}.Add(0))
	check("buckets", errorOf(gate.Admits(bucket.Counts{1}, 0)))
	check("bucket", errorOf(gate.Admits(bucket.Counts{1, 1}, 2)))
	check("levels", errorOf(bucket.NewFilter(gate, must.Have(bucket.NewGeometricLadder(4, 8, 3)))))
	check("buckets", errorOf(bucket.ResumeFilter(gate, l, bucket.Counts{1})))
	check("gate", errorOf(bucket.NewFilter(nil, l)))
	check("table", errorOf(bucket.NewGate(nil, bucket.Budget{Mu: 1, Slack: 1e-6})))
	check("sigma", errorOf(bucket.Ladder{}.Bucket(1)))
}

func errorOf(_ any, err error) error { return err }

func TestPairsThatDoNotFitTheWindowAreRefused(t *testing.T) {
	var size *pld.SizeError
	_, err := bucket.NewTable([]pld.Pair{pld.Gaussian{Sigma: 0.1}}, bucket.Options{Interval: 0x1p-6, Points: 1 << 10})
	if !errors.As(err, &size) || size.Limit != 1<<10 {
		t.Errorf("%v, want a *pld.SizeError", err)
	}
}

func TestHugeCountsAreRefusedNotWrapped(t *testing.T) {
	table := newTable(t, bucket.Options{Interval: 0x1p-6, Points: 1 << 10}, pld.Gaussian{Sigma: 4})
	gate := must.Have(bucket.NewGate(table, bucket.Budget{Mu: 1, Slack: 1e-6}))
	for _, n := range []uint32{16, 1 << 20, 1<<31 - 2, 1<<31 - 1, math.MaxUint32 - 1, math.MaxUint32} {
		if ok, err := gate.Admits(bucket.Counts{n}, 0); ok || err != nil {
			t.Errorf("one more after %d: %v, %v", n, ok, err)
		}
	}
	curve := curveOf(t, table, 1<<31-2)
	if d := must.Have(curve.DeltaAt(1000)); d != 1 {
		t.Errorf("δ(1000) after 2^31 mechanisms is %v", d)
	}
	if d := must.Have(curve.DeltaAt(math.MaxFloat64)); !(d >= 0 && d <= 1) {
		t.Errorf("δ at the largest ε is %v", d)
	}
}

func TestLadderRoundsNoiseDown(t *testing.T) {
	ladder := must.Have(bucket.NewGeometricLadder(1, 16, 5))
	for _, c := range []struct {
		sigma float64
		want  int
	}{{1, 0}, {1.99, 0}, {2.01, 1}, {15.99, 3}, {16, 4}, {math.MaxFloat64, 4}, {math.Inf(1), 4}} {
		if i, err := ladder.Bucket(c.sigma); err != nil || i != c.want {
			t.Errorf("level of %v is %d, %v; want %d", c.sigma, i, err, c.want)
		}
	}
	n, err := bucket.NoiseFor(10, 3)
	if err != nil || n.Sigma > 10.0/3 || n.Sigma < 10.0/3-1e-12 {
		t.Errorf("noise of 10 for a contribution of 3: %v, %v", n, err)
	}
	if n, err := bucket.NoiseFor(10, 0); err != nil || !math.IsInf(n.Sigma, 1) {
		t.Errorf("noise for no contribution: %v, %v", n, err)
	}
}

// If almost all probability belongs to an unbounded loss, no component of the finite losses
// remains.
func TestAlmostCertainlyUnboundedLossesHaveADelta(t *testing.T) {
	for _, count := range []uint32{1, 30, 100, 1 << 20} {
		curve := curveOf(t, newTable(t, bucket.Options{}, pld.Approx{Epsilon: 0.1, Delta: 0.5}), count)
		for _, epsilon := range []float64{0, 1, 1e6} {
			if d, truth := must.Have(curve.DeltaAt(epsilon)), 1-math.Pow(0.5, float64(count)); !(d >= truth && d <= 1) {
				t.Errorf("%d times: δ(%v) = %v, want at least %v", count, epsilon, d, truth)
			}
		}
		if e, err := curve.EpsilonAt(0.25); err == nil || !math.IsInf(e, 1) {
			t.Errorf("%d times: ε = %v (%v), want a *pld.FloorError", count, e, err)
		}
	}
}
