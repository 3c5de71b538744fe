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
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// leafOf is a metrickind.Leaf.
type leafOf struct {
	node   metrickind.Node
	events uint64
}

func (l leafOf) At() (metrickind.Node, uint64) { return l.node, l.events }

// An attacker who sees the number of events and every node that the search for quantiles on a
// logarithmic scale has drawn, and knows everything but whether one user's two events are there, is
// told apart no better than the user is charged for these nodes. The events are in two leaves that
// touch, so that each level of the tree but the last has both in one node. Without the charge for a
// level the claim would be wrong. The charge is that of spend; what is drawn depends on the noise.
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
	var most units.Mu2 // that the user pays for nodes
	seen := func(prefix string, there int64) (above float64) {
		tasks := make([]task, trials)
		for i := range tasks {
			tasks[i] = task{Cell: spend.Cell{End: 1000, Key: fmt.Sprintf("%s%d", prefix, i)}, turn: 1, count: others + 2*there}
		}
		if err := r.ladders.refineAll(tasks); err != nil {
			t.Fatal(err)
		}
		for i := range tasks {
			of := &tasks[i]
			u, err := FurtherPrecision(&specs[0], &specs[nodesAt], of.result.Precision)
			if err != nil {
				t.Fatal(err)
			}
			n := nodes{ladders: &r.ladders, cell: of.Cell, precision: u, scale: scale, leaves: []leaf{{first, others + there}}}
			if n.cell.Metric = uint32(nodesAt); there > 0 {
				n.leaves = append(n.leaves, leaf{first + 1, there})
			}
			ratio := func(u units.Precision, y, without, own float64) float64 {
				return u.Float() * own * (y - without - own/2)
			}
			sum := ratio(of.result.Precision, math.Ldexp(float64(of.result.Value), -10), others, 2)
			search := metrickind.Search{Scale: scale, Draw: func(parent metrickind.Node) (drawn [metrickind.Branching]*big.Int, err error) {
				drawn, err = n.children(parent)
				for i, y := range drawn {
					at, _ := new(big.Rat).SetFrac(y, new(big.Int).Lsh(big.NewInt(1), n.exponent)).Float64()
					from, end := scale.Leaves(parent.Child(i))
					own, without := 0.0, 0.0
					for _, l := range user {
						if from <= l.node && l.node < end {
							own++
						}
					}
					if from <= first && first < end {
						without = others
					}
					sum += ratio(u, at, without, own)
				}
				return drawn, err
			}}
			if err := n.begin(&search, r.ladders.trees[0].width, of.result.Value); err != nil {
				t.Fatal(err)
			}
			for _, m := range r.ladders.trees[0].statistics {
				if _, _, err := metrickind.Of(specs[m].Kind).Statistic(metrickind.Known{Tree: &search}, specs[m].Bounds(), 0); err != nil {
					t.Fatal(err)
				}
			}
			drawn := search.Drawn()
			paid, _ := units.ChargeSquares(metrickind.Squares(user, scale.Levels(), func(parent metrickind.Node) bool { return slices.Contains(drawn, parent) }), u)
			if most = max(most, paid); sum > epsilon {
				above++
			}
		}
		return above / trials
	}
	with, without := seen("a", 1), seen("b", 0)
	got := with - math.Exp(epsilon)*without
	deviation := math.Sqrt((with+math.Exp(2*epsilon)*without)/trials) + 1e-9
	level, _ := units.ChargeSquares(4, specs[nodesAt].Top) // both events in one node
	claimed, less := budgets.DeltaOf(events+most, epsilon, budgets.GDP), budgets.DeltaOf(events+most-level, epsilon, budgets.GDP)
	t.Logf("δ(1) shown %.4f ± %.4f, claimed %.4f, without a level %.4f", got, deviation, claimed, less)
	if math.Abs(got-claimed) > 5*deviation {
		t.Errorf("δ(1) of %v is shown, %v was charged for", got, claimed)
	}
	if got < less+4*deviation {
		t.Errorf("the attack shows δ(1) of %v only: it would not see that a level is not charged (%v)", got, less)
	}
}
