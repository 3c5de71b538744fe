package metrickind

import "math"

// Quantiles are quantiles of the values of a key's events, with the number of these events.
const Quantiles = "quantiles"

// A count is the number of events that are kept. Its further component has a cell for each node of
// a tree of values: how many kept events have values in that node. A user with c_b events in node b
// pays for the nodes that are drawn, u·Σ c_b², and reserves for all: at most c² for each level.
// Nodes are drawn only where drawn ones have led a rank that is asked for (docs/guarantee.md,
// "Quantiles").
func quantiles() Kind {
	return Kind{
		Name:       Quantiles,
		Range:      func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Values:     true,
		EventBound: true,
		Value:      one,
		Tree:       &Tree{Nodes: quantileNodes().Name, Statistic: quantile().Name},
		Texts: Texts{
			Counted: "quantiles of the value field", Label: "quantile", Size: "events", NoKey: together, Verb: "ranks",
			Value: "number of events whose {value} is ranked, each clamped to {min} to {max}",
		},
	}
}

// quantileNodes is the kind of the nodes of a tree: the key of a cell is schemas.NodeKey.
func quantileNodes() Kind {
	return Kind{
		Name:       "quantile_nodes",
		Range:      func(b Bounds) (least, greatest int64) { return 0, b.Events },
		NotPrivate: "it has the keys of its metric",
		Derived:    true,
		Component:  true,
		Nodes:      true,
		Texts:      Texts{Label: "node", NoKey: together, Value: "number of values of {of} in a part of {min} to {max}"},
	}
}

// quantile is the kind of one quantile. Bounds.Max of its metric is the rank, in millionths, and
// the metric's absolute target is the error of the rank that is asked for.
func quantile() Kind {
	return Kind{
		Name:       "quantile",
		Range:      func(Bounds) (least, greatest int64) { return 0, 1 },
		NotPrivate: "it has the keys of its metric",
		Derived:    true,
		Statistic:  true,
		Texts:      Texts{Label: "quantile", NoKey: together, Size: "events", Value: "quantile {rank} of the values of {of}"},
	}
}

// leastAim is the least relative target of a ladder.
const leastAim = 1e-6

// RankAim returns the relative error of the number of events with which the error of a rank, a part
// of 1, is at most absolute. A rank's deviation is at most √W times that of a node, where W is what
// docs/guarantee.md, "Quantiles", derives: max(rank, 1 − rank)² for each sibling on the way to a
// leaf. The conversions keep products from being fused, so that every machine has the same ladder.
//
// It is rounded down to a multiple of 10^-5, but not below the least target that a ladder can have.
func RankAim(b Bounds, ranks []int64, absolute, confidence float64) float64 {
	farthest := 0.5
	for _, r := range ranks {
		farthest = math.Max(farthest, math.Max(float64(r), float64(RankUnit-r))/RankUnit)
	}
	wider := 0.76 // z(0.975)/z(0.995): an interval of one number beside one of five levels
	if confidence < 0.95 {
		wider = 0.62
	}
	siblings := float64((Branching-1)*b.Levels() + 1)
	aim := math.Min(0.5, 0.98*wider*float64(absolute*math.Sqrt(NodesFiner/siblings))/farthest)
	const unit = 1e5 // people read it
	return math.Max(math.Floor(aim*unit)/unit, leastAim)
}
