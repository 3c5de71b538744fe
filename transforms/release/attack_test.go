package release

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// shownDelta is the δ(ε) that an attack shows whose test holds in these parts of its trials, with
// the user and without, and its standard deviation.
func shownDelta(with, without float64, trials int, epsilon float64) (delta, deviation float64) {
	return with - math.Exp(epsilon)*without, math.Sqrt((with+math.Exp(2*epsilon)*without)/float64(trials)) + 1e-9
}

// leafOf is a metrickind.Leaf.
type leafOf struct {
	node   metrickind.Node
	events uint64
}

func (l leafOf) At() (metrickind.Node, uint64) { return l.node, l.events }

// An attacker who sees the number of events and every node that the search for quantiles on a
// logarithmic scale has drawn, and knows everything but whether one user's two events are there,
// distinguishes the two cases no better than the user's charge for these nodes allows. The events
// are in two adjacent leaves, so that each level of the tree but the last has both in one node.
// Without the charge for a level the claim would be wrong. Package spend computes the charge; the
// drawn nodes depend on the noise.
func TestAttackOnLogarithmicQuantiles(t *testing.T) {
	long.Test(t)
	const trials, epsilon, others = 8_000, 1, 1000
	specs := withTree(t, metrickind.Quantiles, "quantile_log_nodes", 0, 1_000_000, nil, []int64{500_000, 950_000}, 0, 2)
	specs[0].First = specs[0].Top // without a target, a ladder stops at its top
	r := releaserOf(t, specs, rand.New(runseed.PCG(t, 3, 2031)))
	scale, nodesAt := scaleOf(t, &specs[len(specs)-1]), len(specs)-1
	first := scale.Leaf(800_000)
	if scale.Levels() != 3 || (first+1).Parent() != first.Parent() {
		t.Fatalf("%d levels, leaf %d", scale.Levels(), first)
	}
	user := []leafOf{{first, 1}, {first + 1, 1}}
	events, _ := units.Charge(2, specs[0].Top)
	var most units.Mu2 // the user's payment for nodes
	seen := func(prefix string, there int64) (above float64) {
		tasks := make([]task, trials)
		for i := range tasks {
			tasks[i] = task{cellID: cellID{End: 1000, Key: fmt.Sprintf("%s%d", prefix, i)}, turn: 1,
				count: others + 2*there}
		}
		must.Succeed(t, r.ladders.refineAll(tasks))
		for i := range tasks {
			cell := &tasks[i]
			u := must.Have(ExtraPrecision(&specs[0], &specs[nodesAt], cell.result.Precision))
			n := nodes{ladders: &r.ladders, cell: cell.cellID, precision: u, scale: scale,
				leaves: []leaf{{first, others + there}}}
			if n.cell.Metric = uint32(nodesAt); there > 0 {
				n.leaves = append(n.leaves, leaf{first + 1, there})
			}
			ratio := func(u units.Precision, y, without, added float64) float64 {
				return u.Float() * added * (y - without - added/2)
			}
			sum := ratio(cell.result.Precision, math.Ldexp(float64(cell.result.Value), -10), others, 2)
			search := metrickind.Search{Scale: scale,
				Draw: func(parent metrickind.Node) (drawn [metrickind.Branching]*big.Int, err error) {
					drawn, err = n.children(parent)
					for i, y := range drawn {
						drawnValue, _ := new(big.Rat).SetFrac(y, new(big.Int).Lsh(big.NewInt(1), n.exponent)).Float64()
						from, end := scale.Leaves(parent.Child(i))
						added, without := 0.0, 0.0
						for _, l := range user {
							if from <= l.node && l.node < end {
								added++
							}
						}
						if from <= first && first < end {
							without = others
						}
						sum += ratio(u, drawnValue, without, added)
					}
					return drawn, err
				}}
			must.Succeed(t, n.begin(&search, r.ladders.trees[0].width, cell.result.Value))
			for _, m := range r.ladders.trees[0].statistics {
				if _, _, err := metrickind.Of(specs[m].Kind).Statistic.Compute(metrickind.Known{Tree: &search},
					specs[m].Bounds(), 0); err != nil {
					t.Fatal(err)
				}
			}
			drawn := search.Drawn()
			paid, _ := units.ChargeSquares(metrickind.Squares(user, scale.Levels(), func(parent metrickind.Node) bool {
				return slices.Contains(drawn, parent)
			}), u)
			if most = max(most, paid); sum > epsilon {
				above++
			}
		}
		return above / trials
	}
	with, without := seen("a", 1), seen("b", 0)
	got, deviation := shownDelta(with, without, trials, epsilon)
	level, _ := units.ChargeSquares(4, specs[nodesAt].Top) // both events in one node
	claimed, less := budgets.DeltaOf(events+most, epsilon, budgets.GDP), budgets.DeltaOf(events+most-level, epsilon,
		budgets.GDP)
	t.Logf("δ(1) shown %.4f ± %.4f, claimed %.4f, without a level %.4f", got, deviation, claimed, less)
	if math.Abs(got-claimed) > 5*deviation {
		t.Errorf("δ(1) of %v is shown, %v was charged for", got, claimed)
	}
	if got < less+4*deviation {
		t.Errorf("the attack shows δ(1) of %v only: it would not see that a level is not charged (%v)", got, less)
	}
}

// An attacker who sees the number of events and every bucket, and knows everything but whether one
// user's two events are there, in buckets of different parents, distinguishes the two cases no
// better than the charge allows. Without the charge for one of the buckets the claim would be
// wrong.
func TestAttackOnHistograms(t *testing.T) {
	const trials, epsilon = 20_000, 1
	edges := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	specs := withTree(t, metrickind.Histogram, "histogram_buckets", 0, 10, edges, nil, 0, math.Sqrt(3))
	specs = []schemas.MetricSpec{specs[0], specs[len(specs)-1]} // shares follow from the observed counts
	r := releaserOf(t, specs, rand.New(runseed.PCG(t, 3, 2030)))
	scale, nodesAt := scaleOf(t, &specs[len(specs)-1]), len(specs)-1
	events, _ := units.Charge(2, specs[0].Top)
	bucket, _ := units.Charge(1, specs[nodesAt].Top)
	seen := func(prefix string, there int64) (above float64) {
		tasks := searched(t, r, specs, map[int64]int64{1: 1000 + there, 9: 1000 + there}, trials, prefix)
		for i := range tasks {
			u := tasks[i].result.Precision
			sum := u.Float() * 2 * (float64(tasks[i].result.Value)/1024 - 2000 - 1)
			extra := must.Have(ExtraPrecision(&specs[0], &specs[nodesAt], u))
			for _, value := range []int64{1, 9} {
				leafOf := scale.Leaf(value)
				n := nodes{ladders: &r.ladders, cell: tasks[i].cellID, precision: extra, scale: scale,
					leaves: []leaf{{leafOf, 1000 + there}}}
				n.cell.Metric = uint32(nodesAt)
				y := must.Have(n.draw(leafOf))
				value, _ := new(big.Rat).SetFrac(y, new(big.Int).Lsh(big.NewInt(1), n.exponent)).Float64()
				sum += extra.Float() * (value - 1000 - 0.5)
			}
			if sum > epsilon {
				above++
			}
		}
		return above / trials
	}
	with, without := seen("a", 1), seen("b", 0)
	got, deviation := shownDelta(with, without, trials, epsilon)
	claimed, less := budgets.DeltaOf(events+2*bucket, epsilon, budgets.GDP), budgets.DeltaOf(events+bucket, epsilon,
		budgets.GDP)
	t.Logf("δ(1) shown %.4f ± %.4f, claimed %.4f, without a bucket %.4f", got, deviation, claimed, less)
	if math.Abs(got-claimed) > 5*deviation {
		t.Errorf("δ(1) of %v is shown, %v was charged for", got, claimed)
	}
	if got < less+4*deviation {
		t.Errorf("the attack shows δ(1) of %v only: it would not see that a bucket is not charged (%v)", got, less)
	}
}

// An attacker who sees the number of events and every drawn node, and knows everything but whether
// one user's only event is there, distinguishes the two cases no better than the charge allows. All
// other events have the same value, so that every level is drawn around it. Without the charge for
// one level the claim would be wrong.
func TestAttackOnQuantiles(t *testing.T) {
	long.Test(t)
	const trials, epsilon, value = 20_000, 1, 333
	specs := quantilesOf(t, 0, 511, []int64{500_000}, 0, math.Sqrt(3)) // three levels
	r := releaserOf(t, specs, rand.New(runseed.PCG(t, 3, 2029)))
	scale, nodesAt := scaleOf(t, &specs[len(specs)-1]), len(specs)-1
	one, _ := units.Charge(1, specs[0].Top)
	level, _ := units.Charge(1, specs[nodesAt].Top)
	all := one + units.Mu2(scale.Levels())*level
	seen := func(prefix string, there int64) (sums []float64) {
		tasks := searched(t, r, specs, map[int64]int64{value: 1000 + there}, trials, prefix)
		for i := range tasks {
			u := tasks[i].result.Precision
			ratio := func(u units.Precision, y float64) float64 { return u.Float() * (y - 1000 - 0.5) }
			sum := ratio(u, float64(tasks[i].result.Value)/1024)
			extra := must.Have(ExtraPrecision(&specs[0], &specs[nodesAt], u))
			n := nodes{ladders: &r.ladders, cell: tasks[i].cellID, precision: extra, scale: scale,
				leaves: []leaf{{scale.Leaf(value), 1000 + there}}}
			n.cell.Metric = uint32(nodesAt)
			for node := scale.Leaf(value); node != metrickind.Root; node = node.Parent() {
				y := must.Have(n.draw(node))
				value, _ := new(big.Rat).SetFrac(y, new(big.Int).Lsh(big.NewInt(1), n.exponent)).Float64()
				sum += ratio(extra, value)
			}
			sums = append(sums, sum)
		}
		return sums
	}
	var with, without float64
	for _, sum := range seen("a", 1) {
		if sum > epsilon {
			with++
		}
	}
	for _, sum := range seen("b", 0) {
		if sum > epsilon {
			without++
		}
	}
	got, deviation := shownDelta(with/trials, without/trials, trials, epsilon)
	claimed := budgets.DeltaOf(all, epsilon, budgets.GDP)
	t.Logf("δ(1) shown %.4f ± %.4f, claimed %.4f", got, deviation, claimed)
	if got > claimed+5*deviation || got < claimed-5*deviation {
		t.Errorf("δ(1) of %v is shown, %v was charged for", got, claimed)
	}
	if less := budgets.DeltaOf(all-level, epsilon, budgets.GDP); got < less+4*deviation {
		t.Errorf("the attack shows δ(1) of %v only: it would not see that a level is not charged (%v)", got, less)
	}
}

// An attacker who sees every component, and knows everything but whether one user's only event is
// there, distinguishes the two cases no better than the charge allows, with the value at the end of
// its range, which costs most. Without the charge for one of the further components the claim would
// be wrong.
func TestAttackOnAMean(t *testing.T) { attackOn(t, metrickind.Mean) }

func TestAttackOnAVariance(t *testing.T) { attackOn(t, metrickind.Variance) }

func attackOn(t *testing.T, kind string) {
	const trials, epsilon = 40_000, 1
	rng := rand.New(runseed.PCG(t, 3, 2022))
	specs := vectorOf(t, kind, 0, 100, 0, 1)
	r := releaserOf(t, specs, rng)
	bounds := specs[0].Bounds()
	event, charges, all := make([]int64, len(specs)), make([]units.Mu2, len(specs)), units.Mu2(0)
	for i, spec := range specs {
		event[i] = metrickind.Of(spec.Kind).Value(bounds.Max, bounds)
		charges[i], _ = units.Charge(uint64(event[i]), spec.Top)
		all += charges[i]
	}
	// The log-likelihood ratio of the observations, with the event against without it.
	seen := func(key string, there int64) float64 {
		cell := cellID{End: 1000, Key: key}
		tasks := []task{{cellID: cell, turn: 1, count: there * event[0]}}
		must.Succeed(t, r.ladders.refineAll(tasks))
		ratio := func(u units.Precision, added int64, value float64) float64 {
			return u.Float() * float64(added) * (value - float64(added)/2)
		}
		sum := ratio(tasks[0].result.Precision, event[0], float64(tasks[0].result.Value)/1024)
		for i := 1; i < len(specs); i++ {
			u := must.Have(ExtraPrecision(&specs[0], &specs[i], tasks[0].result.Precision))
			cell.Metric = uint32(i)
			y := must.Have(r.ladders.draw(cell, u, there*event[i]))
			value, _ := y.Float64()
			sum += ratio(u, event[i], value)
		}
		return sum
	}
	var with, without float64
	for i := range trials {
		if seen(fmt.Sprint("a", i), 1) > epsilon {
			with++
		}
		if seen(fmt.Sprint("b", i), 0) > epsilon {
			without++
		}
	}
	got, deviation := shownDelta(with/trials, without/trials, trials, epsilon)
	claimed := budgets.DeltaOf(all, epsilon, budgets.GDP)
	t.Logf("δ(1) shown %.4f ± %.4f, claimed %.4f", got, deviation, claimed)
	if got > claimed+5*deviation || got < claimed-5*deviation {
		t.Errorf("δ(1) of %v is shown, %v was charged for", got, claimed)
	}
	for i := 1; i < len(specs); i++ {
		if less := budgets.DeltaOf(all-charges[i], epsilon, budgets.GDP); got < less+5*deviation {
			t.Errorf("the attack shows δ(1) of %v only: it would not see that %s is not charged (%v)", got,
				specs[i].Kind, less)
		}
	}
}
