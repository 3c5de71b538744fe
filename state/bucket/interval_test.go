package bucket_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// The ε were computed by another program, in Python: δ(ε) = 1/(2πi)·∫ M(t)^n·e^(−tε)/(t(t+1)) dt
// over Re t = c > 0, with M(t) the mean of e^(tL) for the loss L of one sample; both integrals by
// the trapezoidal rule, the greater ε of both directions, the same to 12 digits at half as many
// points. At an interval of 2^-11 the first one was 0.0921.
func TestTheIntervalFollowsTheSamples(t *testing.T) {
	for _, c := range []struct {
		sigma, sampling float64
		count           uint32
		delta, want     float64
	}{
		{30, 0.005, 10_000, 1e-6, 0.0584015751013},
		{30, 0.005, 100_000, 1e-6, 0.2002716580060},
		{64, 0.01, 10_000, 1e-5, 0.0446673113510},
		{1, 0.01, 1000, 1e-6, 2.1245151711201},
	} {
		p := pld.SubsampledGaussian{Sigma: c.sigma, Sampling: c.sampling}
		table := newTable(t, bucket.Options{}, p)
		got := must.Have(curveOf(t, table, c.count).EpsilonAt(c.delta))
		if !(got >= c.want && got < c.want*1.005) {
			t.Errorf("%+v: ε = %v with %+v", c, got, table.Options())
		}
	}
}

// TestAChosenGridHoldsEveryPair: one pair that loses little does not cost the room of one that
// loses much, and without sampling the grid is unchanged.
func TestAChosenGridHoldsEveryPair(t *testing.T) {
	for _, c := range []struct {
		pairs  []pld.Pair
		points int
		want   bucket.Options
	}{
		{[]pld.Pair{pld.Gaussian{Sigma: 100}}, 0, bucket.Options{Interval: 0x1p-11, Points: 1 << 15}},
		{[]pld.Pair{pld.Gaussian{Sigma: 1000}}, 0, bucket.Options{Interval: 0x1p-13, Points: 1 << 17}},
		{[]pld.Pair{pld.SubsampledGaussian{Sigma: 30, Sampling: 0.005}}, 0,
			bucket.Options{Interval: 0x1p-16, Points: 1 << 17}},
		{[]pld.Pair{pld.SubsampledGaussian{Sigma: 30, Sampling: 0.005}}, 1 << 15,
			bucket.Options{Interval: 0x1p-16, Points: 1 << 15}},
		{[]pld.Pair{pld.SubsampledGaussian{Sigma: 30, Sampling: 0.005}, pld.Gaussian{Sigma: 1}}, 0,
			bucket.Options{Interval: 0x1p-11, Points: 1 << 17}},
		{[]pld.Pair{pld.SubsampledGaussian{Sigma: 30, Sampling: 0.005}, pld.Approx{Epsilon: 0, Delta: 1e-9}}, 0,
			bucket.Options{Interval: 0x1p-16, Points: 1 << 17}},
		// Losses beyond 2^15 points of 2^-11 get more points, then a coarser grid.
		{[]pld.Pair{pld.Gaussian{Sigma: 1}}, 0, bucket.Options{Interval: 0x1p-11, Points: 1 << 17}},
		{[]pld.Pair{pld.Gaussian{Sigma: 0.1}}, 0, bucket.Options{Interval: 0x1p-7, Points: 1 << 17}},
		{[]pld.Pair{pld.Gaussian{Sigma: 0.1}}, 1 << 10, bucket.Options{Interval: 1, Points: 1 << 10}},
		{[]pld.Pair{pld.Gaussian{Sigma: 100}, pld.Laplace{Scale: 0.01}}, 0,
			bucket.Options{Interval: 0x1p-8, Points: 1 << 17}},
	} {
		c.want.Tail = 1e-18
		if got := newTable(t, bucket.Options{Points: c.points}, c.pairs...).Options(); got != c.want {
			t.Errorf("%+v, %d points: %+v, want %+v", c.pairs, c.points, got, c.want)
		}
	}
}

// TestAChosenGridIsSoundWhereItIsCoarse: for noise so small that no fine grid holds it, the bound
// is above the exact value, and not far from it.
func TestAChosenGridIsSoundWhereItIsCoarse(t *testing.T) {
	for _, sigma := range []float64{0.02, 0.1, 0.3, 1} {
		for _, count := range []uint32{1, 7} {
			table := newTable(t, bucket.Options{}, pld.Gaussian{Sigma: sigma})
			exact := must.Have(conversion.GDPToEpsilon(loss.GDP{Mu: math.Sqrt(float64(count)) / sigma}, 1e-6))
			if got := must.Have(curveOf(t, table, count).EpsilonAt(1e-6)); !(got >= exact && got < exact*1.02) {
				t.Errorf("σ = %v, %d times: ε = %v with %+v, exact %v", sigma, count, got, table.Options(), exact)
			}
		}
	}
}
