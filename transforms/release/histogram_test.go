package release

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// With 200 cells each, intervals at 95% hold the true share in 95%, and at most 5% of all values
// claim to have met the target but have a greater error: whatever the law of the values, and even
// for the share below an edge. A rate of exactly 5% would fail with a probability below 1e-6 for
// each of the settings.
func TestIntervalsOfSharesHold(t *testing.T) {
	const cells = 200
	allowed := cells*0.05 + 6*math.Sqrt(cells*0.05*0.95)
	rng := rand.New(runseed.PCG(t, 3, 1954))
	all, missing, met := 0, 0, 0
	for _, edges := range [][]int64{{0, 500_000, 1_000_000},
		{0, 1, 10, 100, 300, 1000, 10_000, 100_000, 333_333, 333_334, 500_000, 1_000_000}} {
		for name, shape := range shapesOfValues {
			for _, events := range []int64{40, 1000, 30_000} {
				values := valuesOf(shape, events)
				for _, within := range []float64{0, 3} {
					specs := withTree(t, metrickind.Histogram, "histogram_buckets", 0, 1_000_000, edges, nil, within, 3)
					tasks := searched(t, releaserOf(t, specs, rng), specs, values, cells, "k")
					for j := range tasks[0].statistics {
						spec := &specs[1+j]
						truth := shareOf(values, spec.Min, spec.Max)
						missed, lied := 0, 0
						for i := range tasks {
							s := tasks[i].statistics[j]
							if truth < s.value.Low || truth > s.value.High {
								missed++
							}
							if s.met {
								met++
								if math.Abs(math.Ldexp(float64(s.value.Value), -10)-truth) > within {
									lied++
								}
							}
						}
						all, missing = all+cells, missing+missed
						if float64(missed) > allowed || float64(lied) > allowed {
							t.Errorf("%s, %d events, %d to %d, target %v: %d of %d intervals miss, %d met values are "+
								"wrong", name, events, spec.Min, spec.Max, within, missed, cells, lied)
						}
					}
				}
			}
		}
	}
	t.Logf("%d of %d intervals miss, %d values met their target", missing, all, met)
	if met == 0 {
		t.Error("no value met its target: the test shows nothing")
	}
}

// shareOf returns the percentage of values from low to below high; the last bucket includes its
// upper edge.
func shareOf(values map[int64]int64, low, high int64) float64 {
	below, _ := places(values, float64(high))
	if high == 1_000_000 {
		below = 1
	}
	from, _ := places(values, float64(low))
	return 100 * (below - from)
}

// A histogram draws every bucket of a released key, and settles their parents: all with the same
// precision.
func TestRuleAllBucketsOfAHistogramAreSettled(t *testing.T) {
	for _, buckets := range []int{2, 7, 8, 9, 16, 17, 50} {
		var edges []int64
		for i := range buckets + 1 {
			edges = append(edges, int64(i))
		}
		specs := withTree(t, metrickind.Histogram, "histogram_buckets", 0, int64(buckets), edges, nil, 0, 3)
		r := releaserOf(t, specs, rand.New(runseed.PCG(t, 3, 50)))
		tasks := []task{{cellID: cellID{End: 1000, Key: "k"}, turn: 1, count: 100}}
		must.Succeed(t, r.ladders.refineAll(tasks))
		settled := must.Have(r.ladders.computeAllStatistics(tasks, nil))
		var parents []metrickind.Node
		for _, k := range settled {
			_, node, _ := schemas.SplitNodeKey(k.Key)
			if parents = append(parents, node); k.Precision != settled[0].Precision {
				t.Errorf("%d buckets: the children of node %d have another precision", buckets, node)
			}
		}
		for i := range int64(buckets) {
			if parent := scaleOf(t, &specs[len(specs)-1]).Leaf(i).Parent(); !slices.Contains(parents, parent) {
				t.Errorf("%d buckets: bucket %d is drawn, and its parent %d is not settled", buckets, i, parent)
			}
		}
		if want := (buckets + 7) / 8; len(parents) != want {
			t.Errorf("%d buckets: %d parents are settled, want %d", buckets, len(parents), want)
		}
	}
}
