package release

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// What is released beside a value is what its kind makes of the drawn components, with an interval
// for as many ratios as this kind has, and is never marked as met. A component that may have been
// clamped takes the interval only from those that are computed from it.
func TestRuleAStatisticBesideAnotherIsThatOfItsKind(t *testing.T) {
	for _, base := range []string{metrickind.Mean, metrickind.StandardDeviation} {
		for _, clamped := range []bool{false, true} {
			specs := vectorOf(t, metrickind.StandardDeviation, 0, 100, 1, 2)
			specs[0].Kind = base
			// Half of the values are 20, half 40: a variance of 0 would now and then fit no draws.
			all := []int64{2000, 1000 * (-60 - 20), 1000 * (2*(60*60+20*20) - 2*100*100)}
			for _, of := range metrickind.Of(base).Also() {
				also := specs[0]
				also.Name, also.Kind, also.Of, also.KeyMode, also.KeysFrom = "m."+of, metrickind.AlsoKind(of).Name, "m", schemas.KeysFrom, "m"
				specs = append(specs, also)
			}
			r := releaserOf(t, specs, rand.New(runseed.PCG(t, 3, 31)))
			tasks, counts := make([]task, 50), []spend.Count(nil)
			for i := range tasks {
				c := spend.Cell{End: 1000, Key: fmt.Sprintf("%06d", i)}
				tasks[i] = task{Cell: c, turn: 1, count: all[0]}
				for c.Metric = 1; c.Metric <= 2; c.Metric++ {
					counts = append(counts, spend.Count{Cell: c, Sum: all[c.Metric]})
				}
			}
			slices.SortFunc(counts, func(a, b spend.Count) int { return a.Compare(b.Cell) })
			if err := r.ladders.refineAll(tasks); err != nil {
				t.Fatal(err)
			}
			if _, err := r.ladders.join(tasks, counts); err != nil {
				t.Fatal(err)
			}
			for i := range tasks {
				if clamped {
					tasks[i].components[2].Value = big.NewRat(-noisereduction.MaxCount, 1)
				}
			}
			if _, err := r.ladders.compute(tasks, counts); err != nil {
				t.Fatal(err)
			}
			for i := range tasks {
				at := &tasks[i]
				if len(at.statistics) != len(specs)-3 {
					t.Fatalf("%d statistics of %d", len(at.statistics), len(specs)-3)
				}
				for j := range at.statistics {
					got := r.ladders.statistic(at, &at.statistics[j])
					of := metrickind.Of(specs[at.statistics[j].metric].Kind).ValueOf
					want := metrickind.Estimate{Value: at.result.Value, StdDev: at.result.StdDev, Low: at.result.Low, High: at.result.High}
					truth, most := 2000.0, math.Inf(1)
					if v := metrickind.Of(of).Vector; v != nil {
						third := len(v.Further) == 2
						want = v.Join(specs[0].Bounds(), metrickind.Components{
							Of: at.components[:1+len(v.Further)], Width: r.ladders.plans[0].Width(v.Ratios), Beyond: clamped && third,
						})
						truth = 0
						if _, most = v.Span(0, 100); !third {
							truth = 30
						}
					}
					if got.Value != want.Value || got.StdDev != want.StdDev || got.Low != want.Low || got.High != want.High || got.Met {
						t.Errorf("%s beside %s, clamped %v: %+v, want %+v", of, base, clamped, got, want)
					}
					if all := got.Low == 0 && got.High == most; all != (clamped && truth == 0) {
						t.Errorf("%s beside %s, clamped %v: an interval from %v to %v", of, base, clamped, got.Low, got.High)
					}
				}
			}
		}
	}
}

// Beside a tree, a mean is computed from a number of events of its own, which is as fine as its
// sum, and not from the first component: its error is that of both, and of the intervals no more
// miss than may. Of a rate of exactly 5 %, more than that would be seen once in 10^6 runs.
func TestIntervalsOfMeansBesideTreesHold(t *testing.T) {
	const cells, sigma = 2000, 4.0
	rng := rand.New(runseed.PCG(t, 5, 1954))
	for _, c := range []struct{ high, levels int64 }{{7, 1}, {511, 3}, {32_767, 5}} {
		for _, at := range []float64{0.03, 0.5} {
			specs := quantilesOf(t, 0, c.high, []int64{500_000}, 0, sigma)
			tree := specs[len(specs)-1]
			part := func(kind metrickind.Kind, square int64) schemas.MetricSpec {
				of := tree
				of.Name, of.Kind, of.PublicKeys = "m."+kind.Name, kind.Name, nil
				top := new(big.Int).Mul(specs[0].Top.Big(), big.NewInt(metrickind.SumsFiner(int(c.levels))))
				var err error
				if of.Top, err = units.PrecisionFromBig(top.Quo(top, big.NewInt(square))); err != nil {
					t.Fatal(err)
				}
				of.First = of.Top
				return of
			}
			specs = slices.Insert(specs, len(specs)-1, part(metrickind.AlsoKind(metrickind.Mean), 1))
			for i, kind := range metrickind.Of(specs[0].Kind).FurtherSums([]string{metrickind.Mean}) {
				square := int64(1)
				if i == 0 {
					square = c.high * c.high
				}
				specs = slices.Insert(specs, len(specs)-1, part(kind, square))
			}
			const events = 3000
			sum := int64(math.Round(events * at * float64(c.high)))
			truth, of := float64(sum)/events, uint32(len(specs)-3)
			r := releaserOf(t, specs, rng)
			tasks, counts := make([]task, cells), []spend.Count(nil)
			for i := range tasks {
				cell := spend.Cell{End: 1000, Key: fmt.Sprintf("%06d", i)}
				tasks[i] = task{Cell: cell, turn: 1, count: events}
				for j, n := range []int64{2*sum - events*c.high, events} {
					cell.Metric = of + uint32(j)
					counts = append(counts, spend.Count{Cell: cell, Sum: n})
				}
			}
			slices.SortFunc(counts, func(a, b spend.Count) int { return a.Compare(b.Cell) })
			if err := r.ladders.refineAll(tasks); err != nil {
				t.Fatal(err)
			}
			if _, err := r.ladders.join(tasks, counts); err != nil {
				t.Fatal(err)
			}
			if _, err := r.ladders.compute(tasks, counts); err != nil {
				t.Fatal(err)
			}
			missed, squares := 0, 0.0
			for i := range tasks {
				mean := tasks[i].statistics[slices.IndexFunc(tasks[i].statistics, func(s statistic) bool { return specs[s.metric].Kind == "also_mean" })].value
				if mean.Low > truth || mean.High < truth {
					missed++
				}
				off := math.Ldexp(float64(mean.Value), -10) - truth
				squares += off * off
			}
			if most := cells*0.05 + 5*math.Sqrt(cells*0.05*0.95); float64(missed) > most {
				t.Errorf("%d levels, a mean at %v: %d of %d intervals miss", c.levels, at, missed, cells)
			}
			// √(v_S/4 + δ²·v_N)/N, at 2 levels times the top of the first ladder
			n := sigma * math.Sqrt(metrickind.NodesFiner) / math.Sqrt(float64(2*c.levels))
			half := float64(c.high) / 2
			want := n * math.Hypot(half, truth-half) / events
			if got := math.Sqrt(squares / cells); math.Abs(got/want-1) > 0.1 {
				t.Errorf("%d levels, a mean at %v: its error is %v, want %v", c.levels, at, got, want)
			}
			t.Logf("%d levels, a mean at %v: %d of %d intervals miss, error %.3g of the range", c.levels, at, missed, cells, math.Sqrt(squares/cells)/float64(c.high))
		}
	}
}
