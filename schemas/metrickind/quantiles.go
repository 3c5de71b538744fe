package metrickind

import "math"

// Quantiles is the kind that releases the number of a key's events and quantiles of their values.
const Quantiles = "quantiles"

// The count of quantiles is the number of events kept. Its further component has a cell for each
// node in a tree of values, with the number of kept values in it. A user with c_b events in node b
// pays u·Σ c_b² over the drawn nodes and reserves for all nodes: at most u·c² per level. The
// children of the root are always drawn, other nodes only if the search for a rank leads to them
// (docs/guarantee.md, "Quantiles").
func quantiles() Kind {
	return Kind{
		Name:  Quantiles,
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Value: one,
		Tree: &Tree{
			Nodes: []string{quantileNodes().Name, logNodes().Name}, Statistic: quantile().Name,
			Target: 0.02, Unit: "as an error of the rank", Aim: rankAim,
		},
		Texts: Texts{
			Counted: "quantiles of the value field", Label: "quantile", Size: "events", Verb: "ranks",
			Value: "number of events whose {value} is ranked, each clamped to {min} to {max}",
		},
	}
}

// quantileNodes is the kind of a tree's nodes: a cell's key is schemas.NodeKey.
func quantileNodes() Kind {
	return Kind{
		Name:  "quantile_nodes",
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Part:  &Part{Nodes: func(b Bounds, _ []int64) (*Scale, error) { return Linear(b) }},
		Texts: Texts{Label: "node", Value: "number of values of {of} in a part of {min} to {max}"},
	}
}

func logNodes() Kind {
	k := quantileNodes()
	k.Name = "quantile_log_nodes"
	k.Part = &Part{Nodes: func(b Bounds, _ []int64) (*Scale, error) { return Logarithmic(b) }}
	return k
}

// RankUnit stands for rank 1: ranks are whole numbers of millionths.
const RankUnit = 1_000_000

// quantile is the kind of one quantile. Bounds.Max is its rank, in millionths, and the metric's
// absolute target is an error of the rank.
func quantile() Kind {
	return Kind{
		Name:  "quantile",
		Range: func(Bounds) (least, greatest int64) { return 0, 1 },
		Statistic: &Statistic{Ranked: true, Compute: func(known Known, b Bounds, absolute float64) (Estimate, bool,
			error) {
			return known.Tree.Quantile(b.Max, int64(absolute*RankUnit))
		}},
		Texts: Texts{Label: "quantile", Together: "quantiles of {of}", Size: "events",
			Value: "quantile {rank} of {value}", Target: "rank ± {percent}%",
			Wanted: "a value between the quantiles of {least rank} and {greatest rank}"},
	}
}

// rankAim returns the relative error of the number of events that limits the error of each rank,
// from 0 to 1, to absolute. The deviation of D (see Search.Quantile) is at most √W times that of a
// node: W sums max(rank, 1 − rank)² over the nodes in D, at most 7·levels + 1 (docs/guarantee.md,
// "Quantiles"). The conversions prevent fused products, so that every machine has the same ladder.
func rankAim(s *Scale, ranks []int64, absolute, confidence float64) float64 {
	farthest := 0.5
	for _, r := range ranks {
		farthest = math.Max(farthest, math.Max(float64(r), float64(RankUnit-r))/RankUnit)
	}
	wider := 0.76 // z(0.975)/z(0.995): ratio of the widths for one level and for five
	if confidence < 0.95 {
		wider = 0.62
	}
	siblings := float64((Branching-1)*s.Levels() + 1)
	return floorAim(0.98 * wider * float64(absolute*math.Sqrt(NodesFiner/siblings)) / farthest)
}

// floorAim rounds a ladder's relative target down to a multiple of 10^-5, because people read it,
// and limits it to the range from a ladder's least target to 0.5.
func floorAim(aim float64) float64 {
	const unit, least = 1e5, 1e-6
	return math.Max(math.Floor(math.Min(aim, 0.5)*unit)/unit, least)
}
