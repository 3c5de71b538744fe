package deployment_test

import (
	"math/big"
	"math/bits"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

func quantilesFrom(low, high int64, events int) deployment.Metric {
	m := hourly("m")
	m.Kind, m.Min, m.Max, m.MaxEventsPerKey, m.Ranks, m.Noise = metrickind.Quantiles, low, high, events,
		[]float64{0.5, 0.999}, 100
	m.Target = noisereduction.Target{Absolute: 0.05, Confidence: 0.95}
	return m
}

// A full bucket pays for exactly the stated number of events of quantiles, all of one value: then
// every level of the tree costs the most. A histogram has one level. The values released beside
// them are paid for, too. Wherever N's ladder stops, nodes are drawn with no more than their top.
func TestRuleABucketPaysForAllLevelsOfQuantiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		low := rapid.Int64Range(-1000, 1000).Draw(rt, "min")
		m := quantilesFrom(low, low+rapid.SampledFrom([]int64{1, 5, 7, 8, 63, 64, 511, 4095, 4096, 32_767,
			1 << 31}).Draw(rt, "range"), 0)
		steps, kind := m.Max-m.Min+1, 0
		switch rapid.IntRange(0, 2).Draw(rt, "kind") {
		case 1:
			m.Scale, kind = deployment.ScaleLogarithmic, 1
			if d := m.Max - m.Min; d > 63 {
				wide := bits.Len64(uint64(d)) - 6 // of the last step, as a power of two
				steps = int64(32*wide) + d>>wide + 1
			}
		case 2:
			m.Kind, m.Ranks, m.Buckets, m.Target.Absolute = metrickind.Histogram, nil,
				rapid.IntRange(2, metrickind.MostBuckets).Draw(rt, "buckets"), 5
			m.Max, steps = max(m.Max, m.Min+int64(m.Buckets)), 1
		}
		m.Noise = rapid.Float64Range(100, 1e4).Draw(rt, "noise")
		if wide := m.Max - m.Min; wide < 512 {
			m.Also = rapid.SampledFrom([][]string{nil, {"mean"}, {"standard_deviation", "mean"}}).Draw(rt, "also")
		}
		d, err := compile(m)
		if err != nil {
			rt.Fatal(err)
		}
		specs := d.Specs()
		first, nodes := specs[0], specs[len(specs)-1]
		if nodes.Kind != metrickind.Of(m.Kind).Tree.Nodes[kind] {
			rt.Fatalf("the last definition is of kind %s", nodes.Kind)
		}
		levels := 1
		for leaves := int64(8); leaves < steps && levels < 5; leaves *= 8 {
			levels++
		}
		// of the sums, and of the number by which they are divided
		tops, powers := []*big.Int{}, []int{1, 2, 0}[:len(m.Also)]
		finer := new(big.Int).Mul(first.Top.Big(), big.NewInt(int64(2*levels)))
		wide := new(big.Int).SetInt64(m.Max - m.Min)
		for i := range m.Also { // a mean has a second component, a standard deviation a third
			square := new(big.Int).Exp(wide, big.NewInt(int64(2<<i)), nil)
			tops = append(tops, square.Quo(finer, square))
		}
		if len(m.Also) > 0 {
			tops, powers = append(tops, finer), append(powers, 0)
		}
		for i, top := range tops {
			if parent := specs[len(specs)-1-len(tops)+i]; parent.Top.Big().Cmp(top) != 0 {
				rt.Errorf("a tree of %d levels: N at %v, and %s at %v, want %v", levels, first.Top, parent.Kind,
					parent.Top.Big(), top)
			}
		}
		most, _ := deployment.MostOfKey(d)
		for _, events := range []uint64{most, most + 1} {
			price, _ := units.Charge(events, first.Top)
			tree, _ := units.ChargeSquares(uint64(levels)*events*events, nodes.Top)
			price, _ = price.Add(tree)
			for i := range tops {
				size := events
				for range powers[i] {
					size *= wide.Uint64()
				}
				sum, _ := units.Charge(size, specs[len(specs)-1-len(tops)+i].Top)
				price, _ = price.Add(sum)
			}
			if (price <= first.Burst) != (events == most) {
				rt.Errorf("%d events cost %d of %d", events, price, first.Burst)
			}
		}
		part := rapid.Int64Range(1, 1000).Draw(rt, "part")
		u, _ := units.PrecisionFromBig(new(big.Int).Div(new(big.Int).Mul(first.Top.Big(), big.NewInt(part)),
			big.NewInt(1000)))
		if precision, err := release.ExtraPrecision(&first, &nodes, u); err != nil || precision.Cmp(nodes.Top) > 0 ||
			precision.Big().Cmp(new(big.Int).Mul(u.Big(), big.NewInt(metrickind.NodesFiner))) != 0 {
			rt.Errorf("N at %v: nodes at %v, %v", u, precision, err)
		}
	})
}

// No other metric has the name of a quantile, of a statistic beside it, or of a component.
func TestNoMetricHasTheNameOfAPartOfQuantiles(t *testing.T) {
	m := quantilesFrom(0, 100, 2)
	m.Also = []string{"mean", "variance"}
	d := must.Have(compile(m))
	for _, spec := range d.Specs()[1:] {
		if _, err := compile(m, hourly(spec.Name)); err == nil || !strings.Contains(err.Error(), "needs this name") {
			t.Errorf("a metric with the name of %s: error is %v", spec.Kind, err)
		}
	}
}

// The range of quantiles does not depend on how many events of a user count. A mean beside them has
// the range of a mean.
func TestRuleTheRangeOfATreeIsThatOfItsValues(t *testing.T) {
	for _, c := range []struct {
		low, high int64
		also      []string
		fits      bool
	}{
		{-1 << 36, 1 << 36, nil, true}, {-1<<36 - 1, 0, nil, false}, {0, 1<<36 + 1, nil, false},
		{0, 1 << 36, []string{"mean"}, false}, {0, 10_000, []string{"mean"}, true}, {0, 10_000, []string{"variance"},
			false},
	} {
		m := quantilesFrom(c.low, c.high, 1000)
		m.Also = c.also
		if _, err := compile(m); (err == nil) != c.fits {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
