package release

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
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

// Beside a tree, a mean is computed from its sum and from a number of events that is as fine as the
// sum, and not from the first component. Its error is that of these two, and at most 5 % of its
// intervals miss. If exactly 5 % do, the test fails less than once in 10^6 runs.
func TestIntervalsOfMeansBesideTreesHold(t *testing.T) {
	long.Test(t)
	const cells, sigma = 2000, 4.0
	rng := rand.New(runseed.PCG(t, 5, 1954))
	for _, c := range []struct{ high, levels int64 }{{7, 1}, {511, 3}, {32_767, 5}} {
		for _, at := range []float64{0.03, 0.5} {
			specs := besideTree(t, quantilesOf(t, 0, c.high, []int64{500_000}, 0, sigma), metrickind.Mean)
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
			if most := cells*0.05 + 5.5*math.Sqrt(cells*0.05*0.95); float64(missed) > most {
				t.Errorf("%d levels, a mean at %v: %d of %d intervals miss", c.levels, at, missed, cells)
			}
			// √(v_S/4 + δ²·v_N)/N, where the precision of N is 2·levels times the top of the ladder
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

// If the ladder of the first component stops before its top, the further components beside a tree
// are drawn with exactly the precision that users pay for: that of the first one at its stop, times
// how much finer they are. One of the variances is off by six deviations less than once in 10^6
// runs.
func TestSumsBesideATreeAreDrawnAsFinelyAsTheyArePaidFor(t *testing.T) {
	const cells, events = 4000, 2000
	for kind, specs := range map[string][]schemas.MetricSpec{
		"quantiles": withTree(t, metrickind.Quantiles, "quantile_nodes", 0, 500, nil, []int64{500_000}, 0, 4),
		"histogram": withTree(t, metrickind.Histogram, "histogram_buckets", 0, 500, []int64{0, 250, 500}, nil, 0, 4),
	} {
		specs[0].Relative = 0.1
		specs = besideTree(t, specs, metrickind.Variance)
		r := releaserOf(t, specs, rand.New(runseed.PCG(t, 4, 1066)))
		further := r.ladders.further[0]
		tasks, counts := make([]task, cells), []spend.Count(nil)
		for i := range tasks {
			cell := spend.Cell{End: 1000, Key: fmt.Sprintf("%06d", i)}
			tasks[i] = task{Cell: cell, turn: 1, count: events}
			for _, at := range further {
				cell.Metric = uint32(at)
				counts = append(counts, spend.Count{Cell: cell, Sum: events * metrickind.Of(specs[at].Kind).Value(500, specs[0].Bounds())})
			}
		}
		slices.SortFunc(counts, func(a, b spend.Count) int { return a.Compare(b.Cell) })
		if err := r.ladders.refineAll(tasks); err != nil {
			t.Fatal(err)
		}
		settled, err := r.ladders.join(tasks, counts)
		if err != nil {
			t.Fatal(err)
		}
		squares := make([]float64, len(further)) // of errors, each divided by the variance that is paid for
		for i := range tasks {
			for j, at := range further {
				paid := settled[i*len(further)+j]
				of := specs[at]
				want := new(big.Int).Mul(tasks[i].result.Precision.Big(), of.Top.Big())
				if want.Quo(want, specs[0].Top.Big()); int(paid.Metric) != at || paid.Precision.Big().Cmp(want) != 0 || 4*paid.Precision.Float() > of.Top.Float() {
					t.Fatalf("%s: metric %d costs %v, want %v, far below %v", of.Kind, paid.Metric, paid.Precision, want, of.Top)
				}
				// The last one replaces the first component.
				off, _ := tasks[i].components[(j+1)%len(further)].Value.Float64()
				off -= float64(events * metrickind.Of(of.Kind).Value(500, specs[0].Bounds()))
				squares[j] += off * off * paid.Precision.Float()
			}
		}
		for j, at := range further {
			if got := squares[j] / cells; math.Abs(got-1) > 6*math.Sqrt(2.0/cells) {
				t.Errorf("beside %s: the variance of %s is %.3f times the one that is paid for", kind, specs[at].Kind, got)
			}
		}
	}
}

// besideTree adds statistics, and the further components that they need, to the metrics that
// withTree returns. The nodes remain the last metric.
func besideTree(t testing.TB, specs []schemas.MetricSpec, also ...string) []schemas.MetricSpec {
	t.Helper()
	first, nodes := &specs[0], specs[len(specs)-1]
	all := slices.Clone(specs[:len(specs)-1])
	add := func(kind metrickind.Kind, square *big.Int) {
		part := nodes
		part.Name, part.Kind, part.PublicKeys = kind.Beside("m"), kind.Name, nil
		top := new(big.Int).Mul(first.Top.Big(), big.NewInt(metrickind.SumsFiner(scaleOf(t, &nodes).Levels())))
		var err error
		if part.Top, err = units.PrecisionFromBig(top.Quo(top, square)); err != nil {
			t.Fatal(err)
		}
		part.First = part.Top
		all = append(all, part)
	}
	for _, of := range also {
		add(metrickind.AlsoKind(of), big.NewInt(1))
	}
	for _, kind := range metrickind.Of(first.Kind).FurtherSums(also) {
		add(kind, kind.Square(first.Bounds()))
	}
	return append(all, nodes)
}
