package deployment_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/release"
)

func meanFrom(low, high int64, events int) deployment.Metric {
	m := hourly("m")
	m.Kind, m.Min, m.Max, m.MaxEventsPerKey, m.Noise = metrickind.Mean, low, high, events, 20
	m.Target = noisereduction.Target{Absolute: float64(high-low) / 20, Confidence: 0.95}
	return m
}

// A full bucket pays for exactly the stated number of events of a mean or a variance, with all
// components at their bounds. Wherever N's ladder stops, the others are drawn at no more than their
// tops.
func TestRuleABucketPaysForAllComponentsOfAValue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		low := rapid.Int64Range(-1000, 1000).Draw(rt, "min")
		m := meanFrom(low, low+rapid.Int64Range(1, 5000).Draw(rt, "range"), 0)
		m.Kind = rapid.SampledFrom([]string{metrickind.Mean, metrickind.Variance,
			metrickind.StandardDeviation}).Draw(rt, "kind")
		from, to := metrickind.Of(m.Kind).Vector.Span(float64(m.Min), float64(m.Max))
		m.Target.Absolute, m.Noise = (to-from)/20, rapid.Float64Range(40, 1e4).Draw(rt, "noise")
		d, err := compile(m)
		if err != nil && strings.Contains(err.Error(), "too wide for the budget") {
			rt.Skip("a range that is refused")
		}
		if err != nil {
			rt.Fatal(err)
		}
		specs := d.Specs()
		atOnce, _ := deployment.MostOfKey(d)
		for _, events := range []uint64{atOnce, atOnce + 1} {
			price, most := units.Mu2(0), events
			for i := range specs {
				charge, _ := units.Charge(most, specs[i].Top)
				price, _ = price.Add(charge)
				most *= uint64(m.Max - m.Min)
			}
			if fits := price <= specs[0].Burst; fits != (events == atOnce) {
				rt.Fatalf("%d events cost %d of %d", events, price, specs[0].Burst)
			}
		}
		for _, u := range d.Metrics[0].Plan.Ladder() {
			for i := 1; i < len(specs); i++ {
				drawn, err := release.ExtraPrecision(&specs[0], &specs[i], u)
				want := new(big.Int).Mul(u.Big(), specs[i].Top.Big())
				want.Quo(want, specs[0].Top.Big())
				if err != nil || drawn.Cmp(specs[i].Top) > 0 || drawn.Big().Cmp(want) != 0 {
					rt.Fatalf("at %v component %d is drawn at %v, %v", u, i, drawn, err)
				}
			}
		}
	})
}

// A ladder can stop early for the target that is proposed: of counts that are some 200 times the
// noise of its top, and not of millions of events only.
func TestTheProposedTargetLetsALadderStop(t *testing.T) {
	for name, parts := range map[string]float64{metrickind.Mean: 20, metrickind.Variance: 20,
		metrickind.StandardDeviation: 4} {
		for _, b := range []metrickind.Bounds{{Events: 1, Max: 100}, {Events: 20, Min: -7, Max: 5},
			{Events: 3, Min: 1_000_000, Max: 1_000_001}} {
			for _, confidence := range []float64{0.8, 0.95, 0.999} {
				v := metrickind.Of(name).Vector
				got := deployment.CoarseTarget(metrickind.Of(name), b, confidence)
				if from, to := v.Span(float64(b.Min), float64(b.Max)); math.Abs(got-(to-from)/parts) > 1e-9 {
					t.Errorf("%s of %+v: %v of %v to %v", name, b, got, from, to)
				}
				if r := v.Aim(b, 0, got, confidence); r < 0.01 {
					t.Errorf("%s of %+v: a relative error of %v of the number of events", name, b, r)
				}
			}
		}
	}
}
