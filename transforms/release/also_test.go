package release

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// A value released beside another follows from its kind and the drawn components, with an interval
// for as many ratios as this kind has, and is never marked as met. A possibly clamped component
// removes the interval only from the kinds that are computed from it.
func TestRuleAStatisticBesideAnotherIsThatOfItsKind(t *testing.T) {
	for _, base := range []string{metrickind.Mean, metrickind.StandardDeviation} {
		for _, clamped := range []bool{false, true} {
			specs := vectorOf(t, metrickind.StandardDeviation, 0, 100, 1, 2)
			specs[0].Kind = base
			// Half of the values are 20, half 40: a variance of 0 would now and then fit no draws.
			all := []int64{2000, 1000 * (-60 - 20), 1000 * (2*(60*60+20*20) - 2*100*100)}
			for _, kind := range metrickind.Of(base).Also() {
				also := specs[0]
				also.Name, also.Kind, also.Of, also.KeyMode, also.KeysFrom = "m."+
					kind, metrickind.AlsoKind(kind).Name, "m", schemas.KeysFrom, "m"
				specs = append(specs, also)
			}
			r := releaserOf(t, specs, rand.New(runseed.PCG(t, 3, 31)))
			tasks, counts := make([]task, 50), []cellCount(nil)
			for i := range tasks {
				c := cellID{End: 1000, Key: fmt.Sprintf("%06d", i)}
				tasks[i] = task{cellID: c, turn: 1, count: all[0]}
				for c.Metric = 1; c.Metric <= 2; c.Metric++ {
					counts = append(counts, cellCount{cellID: c, Sum: all[c.Metric]})
				}
			}
			slices.SortFunc(counts, func(a, b cellCount) int { return a.Compare(b.cellID) })
			must.Succeed(t, r.ladders.refineAll(tasks))
			must.Have(r.ladders.drawAllExtra(tasks, counts))
			for i := range tasks {
				if clamped {
					tasks[i].components[2].Value = big.NewRat(-noisereduction.MaxCount, 1)
				}
			}
			must.Have(r.ladders.computeAllStatistics(tasks, counts))
			for i := range tasks {
				t0 := &tasks[i]
				if len(t0.statistics) != len(specs)-3 {
					t.Fatalf("%d statistics of %d", len(t0.statistics), len(specs)-3)
				}
				for j := range t0.statistics {
					got := r.ladders.statisticOf(t0, &t0.statistics[j])
					counted := metrickind.Of(specs[t0.statistics[j].metric].Kind).ValueOf()
					want := metrickind.Estimate{Value: t0.result.Value, StdDev: t0.result.StdDev, Low: t0.result.Low,
						High: t0.result.High}
					truth, most := 2000.0, math.Inf(1)
					if v := metrickind.Of(counted).Vector; v != nil {
						third := len(v.Extra) == 2
						want = v.Join(specs[0].Bounds(), metrickind.Components{
							Of: t0.components[:1+len(v.Extra)], HalfWidth: r.ladders.plans[0].Width(v.Ratios),
							Beyond: clamped && third,
						})
						truth = 0
						if _, most = v.Span(0, 100); !third {
							truth = 30
						}
					}
					if got.Value != want.Value || got.StdDev != want.StdDev || got.Low != want.Low ||
						got.High != want.High || got.Met {
						t.Errorf("%s beside %s, clamped %v: %+v, want %+v", counted, base, clamped, got, want)
					}
					if all := got.Low == 0 && got.High == most; all != (clamped && truth == 0) {
						t.Errorf("%s beside %s, clamped %v: an interval from %v to %v", counted, base, clamped, got.Low,
							got.High)
					}
				}
			}
		}
	}
}
