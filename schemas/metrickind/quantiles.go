package metrickind

import "math"

// Quantiles is the kind that releases the number of a key's events and quantiles of their values.
const Quantiles = "quantiles"

// quantiles returns the kind Quantiles. The first component of its counts is the number of kept
// events. A further component has a cell for each node in a tree of values, with the number of kept
// values in the node. A user with c_b events in node b pays u·Σ c_b² over the drawn nodes, and
// reserves the sum over all nodes: at most u·c² per level. The children of the root are always
// drawn. Others are drawn only if a search leads to them (docs/guarantee.md, "Quantiles").
func quantiles() Kind {
	return Kind{
		Name:  Quantiles,
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Value: countEvent,
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

// quantileNodes returns the kind of a tree's nodes, whose keys are schemas.NodeKey.
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

// RankUnit is rank 1 in the unit of ranks, which are integers in millionths.
const RankUnit = 1_000_000

// quantile returns the kind of one quantile. Bounds.Max is the quantile's rank in millionths, and
// the metric's absolute target is an error of the rank.
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

// rankAim returns the relative error of the number of events at which the error of each rank, from
// 0 to 1, is at most absolute. The deviation of D (see Search.Quantile) is at most √W times the
// deviation of a node's count. W is the sum of max(rank, 1 − rank)² over the nodes in D, of which
// there are at most 7·levels + 1 (docs/guarantee.md, "Quantiles"). The conversions prevent fused
// products, so that every machine computes the same ladder.
func rankAim(s *Scale, ranks []int64, absolute, confidence float64) float64 {
	farthest := 0.5
	for _, r := range ranks {
		farthest = math.Max(farthest, math.Max(float64(r), float64(RankUnit-r))/RankUnit)
	}
	wider := 0.76 // z(0.975)/z(0.995): width for one level, divided by the width for five
	if confidence < 0.95 {
		wider = 0.62
	}
	siblings := float64((Branching-1)*s.Levels() + 1)
	return floorAim(0.98 * wider * float64(absolute*math.Sqrt(NodesFiner/siblings)) / farthest)
}

// floorAim limits a ladder's relative target to the range from the smallest possible target to 0.5.
// It also rounds the target down to a multiple of 10^-5, which is easier to read.
func floorAim(aim float64) float64 {
	const unit, least = 1e5, 1e-6
	return math.Max(math.Floor(math.Min(aim, 0.5)*unit)/unit, least)
}
