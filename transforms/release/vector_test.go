package release

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// meanOf returns a mean of values from min to max, and its second component. Its noise has a
// standard deviation of at least sigma.
func meanOf(t testing.TB, low, high int64, absolute, sigma float64) []schemas.MetricSpec {
	t.Helper()
	return vectorOf(t, metrickind.Mean, low, high, absolute, sigma)
}

// vectorOf does so for any kind with several components.
func vectorOf(t testing.TB, kind string, low, high int64, absolute, sigma float64) []schemas.MetricSpec {
	t.Helper()
	top := must.Have(units.PrecisionFromSigma(sigma))
	first := must.Have(units.PrecisionFromSigma(1 << 12 * sigma))
	m := schemas.MetricSpec{Name: "m", Kind: kind, WindowSize: 1000, WindowSlide: 1000, MaxKeysPerUser: 1,
		MaxEventsPerKey: 1, Min: low, Max: high, LadderKind: "adaptive", First: first, Top: top, Absolute: absolute,
		Confidence: 0.95, KeyMode: schemas.KeysPublic}
	specs := []schemas.MetricSpec{m}
	for _, kind := range metrickind.Of(m.Kind).Extra() {
		extra := m
		extra.Name, extra.Kind, extra.Of, extra.KeyMode, extra.KeysFrom, extra.Absolute = kind.Beside("m"),
			kind.Name, "m", schemas.KeysFrom, "m", 0
		extra.Top = must.Have(units.PrecisionFromBig(new(big.Int).Quo(top.Big(), kind.Square(m.Bounds()))))
		extra.First, extra.LadderKind, extra.LadderFactor = extra.Top, "geometric", 2
		specs = append(specs, extra)
	}
	return specs
}

// With 300 cells each (TOLLGATE_CELLS=10000 for more), intervals at 95% hold the mean in 95%, and
// at most 5% of all values claim to have met the target but miss it: wherever the mean lies, and
// however many events there are. A setting at exactly 5% fails with a probability below 1e-6.
func TestIntervalsOfMeansHold(t *testing.T) {
	cells := 300
	if n, err := strconv.Atoi(os.Getenv("TOLLGATE_CELLS")); err == nil {
		cells = n
	}
	allowed := float64(cells)*0.05 + 6*math.Sqrt(float64(cells)*0.05*0.95)
	rng := rand.New(runseed.PCG(t, 3, 1954))
	for _, absolute := range []float64{1, 5, 20} {
		for _, events := range []int64{30, 300, 30_000} {
			for _, share := range []float64{0, 0.5, 0.97} {
				specs := meanOf(t, 0, 100, absolute, 2)
				r := releaserOf(t, specs, rng)
				sum := int64(math.Round(share * 100 * float64(events)))
				truth := float64(sum) / float64(events)
				missed, lied, met := 0, 0, 0
				for _, v := range means(t, r, specs[0].Bounds(), events, sum, cells) {
					if v.Low > truth || v.High < truth {
						missed++
					}
					if v.Met {
						met++
						if math.Abs(v.Count()-truth) > absolute {
							lied++
						}
					}
				}
				t.Logf("±%v, %5d events, mean %3.0f: %4.1f%% of intervals miss, %5.1f%% met, %4.2f%% met and missed",
					absolute, events, truth, 100*float64(missed)/float64(cells), 100*float64(met)/float64(cells),
					100*float64(lied)/float64(cells))
				if float64(missed) > allowed || float64(lied) > allowed {
					t.Errorf("±%v, %d events, mean %v: %d of %d intervals miss it, %d values say that they met the "+
						"target and did not", absolute, events, truth, missed, cells, lied)
				}
			}
		}
	}
}

// As TestIntervalsOfMeansHold, for variances and standard deviations: of values that are all alike,
// that lie at both ends, in between, or nearly all at one end. Over all cells of a kind, more than
// 10,000, intervals miss in no more than 5%.
func TestIntervalsOfVariancesHold(t *testing.T) {
	long.Test(t)
	cells := 500
	if n, err := strconv.Atoi(os.Getenv("TOLLGATE_CELLS")); err == nil {
		cells = n
	}
	allowed := func(n int) float64 { return float64(n)*0.05 + 5*math.Sqrt(float64(n)*0.05*0.95) }
	rng := rand.New(runseed.PCG(t, 3, 2026))
	for kind, targets := range map[string][]float64{metrickind.Variance: {0, 50, 400},
		metrickind.StandardDeviation: {0, 8, 25}} {
		missedOfAll, ofAll, metOfAll := 0, 0, 0
		for _, absolute := range targets {
			for _, events := range []int64{40, 600, 60_000} {
				for _, pair := range [][2]int64{{0, 0}, {50, 50}, {0, 100}, {20, 70}, {97, 99}} {
					specs := vectorOf(t, kind, 0, 100, absolute, 2)
					half := float64(pair[1]-pair[0]) / 2 // half of the events have one value, half the other
					truth := half * half
					if kind == metrickind.StandardDeviation {
						truth = half
					}
					missed, lied, met := 0, 0, 0
					for _, v := range released(t, releaserOf(t, specs, rng), addedBy(specs, events, pair[:]), cells) {
						if v.Low > truth || v.High < truth {
							missed++
						}
						if v.Met {
							met++
							if math.Abs(v.Count()-truth) > absolute {
								lied++
							}
						}
					}
					missedOfAll, ofAll, metOfAll = missedOfAll+missed, ofAll+cells, metOfAll+met
					t.Logf("%s ±%v, %5d events of %v: %4.1f%% of intervals miss %v, %5.1f%% met", kind, absolute,
						events, pair, 100*float64(missed)/float64(cells), truth, 100*float64(met)/float64(cells))
					if float64(missed) > allowed(cells) || float64(lied) > allowed(cells) {
						t.Errorf("%s ±%v, %d events of %v: %d of %d intervals miss %v, %d values say that they met "+
							"the target and did not", kind, absolute, events, pair, missed, cells, truth, lied)
					}
				}
			}
		}
		t.Logf("%s: %d of %d intervals miss", kind, missedOfAll, ofAll)
		if 20*missedOfAll > ofAll || metOfAll == 0 || metOfAll == ofAll {
			t.Errorf("%s: %d of %d intervals miss, and %d met the target", kind, missedOfAll, ofAll, metOfAll)
		}
	}
}

// addedBy returns the sums of a number of events for each component; equally many events have each
// value.
func addedBy(specs []schemas.MetricSpec, events int64, values []int64) (sums []int64) {
	for _, spec := range specs {
		sum := int64(0)
		for _, v := range values {
			sum += events / int64(len(values)) * metrickind.Of(spec.Kind).Value(v, specs[0].Bounds())
		}
		sums = append(sums, sum)
	}
	return sums
}

// means releases the mean of so many events with this sum in each of some cells.
func means(t testing.TB, r *Releaser, bounds metrickind.Bounds, events, sum int64, cells int) []schemas.Release {
	t.Helper()
	return released(t, r, []int64{events, 2*sum - events*(bounds.Min+bounds.Max)}, cells)
}

// released releases a value of these components in each of some cells.
func released(t testing.TB, r *Releaser, components []int64, cells int) []schemas.Release {
	t.Helper()
	tasks, counts, all := make([]task, cells), []cellCount(nil), make([]schemas.Release, cells)
	for i := range tasks {
		c := cellID{End: 1000, Key: fmt.Sprintf("%06d", i)}
		tasks[i] = task{cellID: c, turn: 1, count: components[0]}
	}
	for j, n := range components[1:] {
		for i := range tasks {
			c := tasks[i].cellID
			c.Metric = uint32(1 + j)
			counts = append(counts, cellCount{cellID: c, Sum: n})
		}
	}
	must.Succeed(t, r.ladders.refineAll(tasks))
	must.Have(r.ladders.drawAllExtra(tasks, counts))
	for i := range tasks {
		all[i] = r.ladders.releaseOf(&tasks[i])
	}
	return all
}

func releaserOf(t testing.TB, specs []schemas.MetricSpec, rng *rand.Rand) *Releaser {
	t.Helper()
	var key [32]byte
	for i := range key {
		key[i] = byte(rng.Uint32())
	}
	r, err := New(Options{
		Metrics: specs, Ending: func(uint64) []schemas.MetricWindow {
			return nil
		}, Publisher: noPublisher{}, Incarnation: [16]byte{1},
		Noise:  noisereduction.NoiseKey{ID: "k", Secret: secret.New(key)},
		Counts: schemas.CountsEncoding{Format: schemas.CountsJSON},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type noPublisher struct{ Publisher }
