package metrickind

import (
	"math"
	"math/big"
)

// Histogram is the kind that releases the number of a key's events and the shares of their values.
const Histogram = "histogram"

// The count of a histogram is the number of events kept. Its further component has a cell for each
// bucket, with the number of kept values in it. All buckets of a released key are drawn: a user
// with c_b events in bucket b pays u·Σ c_b² (docs/guarantee.md, "Histograms").
func histogram() Kind {
	return Kind{
		Name:  Histogram,
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Value: one,
		Tree: &Tree{
			Nodes: []string{buckets().Name}, Statistic: share().Name, Edges: true,
			Target: 2, Unit: "in percentage points of a share", Aim: shareAim,
		},
		Texts: Texts{
			Counted: "shares of the value field's values", Label: "histogram", Size: "events", Verb: "counts",
			Value: "number of events whose {value} is counted, each clamped to {min} to {max}",
		},
	}
}

// buckets is the kind of a histogram's buckets: a cell's key is schemas.NodeKey of the bucket's
// leaf.
func buckets() Kind {
	return Kind{
		Name:  "histogram_buckets",
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Part:  &Part{Nodes: func(_ Bounds, edges []int64) (*Scale, error) { return Buckets(edges) }},
		Texts: Texts{Label: "bucket", Value: "number of values of {of} in a part of {min} to {max}"},
	}
}

// share is the kind of one share: the percentage of values from Bounds.Min to below Bounds.Max,
// which are edges of the histogram; the last bucket includes its upper edge. The metric's absolute
// target is in percentage points.
func share() Kind {
	return Kind{
		Name:  "bucket_share",
		Range: func(Bounds) (least, greatest int64) { return 0, 1 },
		Statistic: &Statistic{Compute: func(known Known, b Bounds, absolute float64) (Estimate, bool, error) {
			scale := known.Tree.Scale
			return known.Tree.Share(scale.Bucket(b.Min), scale.bucketsBelow(b.Max), absolute)
		}},
		Texts: Texts{Label: "share", Together: "histogram of {of}", Size: "events", Value: "percentage of the values " +
			"of {value} that lie in each bucket, and below each edge; values below {min} count as {min}, and values " +
			"above {max} as {max}", Wanted: "an error of {absolute} percentage points", Target: "± {absolute} points"},
	}
}

// Share returns the percentage of values in the buckets from first to before end, with an interval.
// met reports whether both ends are at most within percentage points away from the value; it is
// false if within is 0. Errors are as for Draw. The scale must belong to a histogram.
//
// Let A be the sum of the drawn counts of these n buckets, R the sum of the m others, and T = A +
// R. For the true share s, (1 − s)·A − s·R is normal around 0, with the variance ((1 − s)²·n +
// s²·m) times the variance of one count. The interval contains every s from 0 to 1 for which this
// is at most z deviations from 0 (Fieller 1954). With q = z²·σ²,
//
//	s²·(T² − q·(n + m)) − 2s·(A·T − q·n) + A² − q·n ≤ 0.
//
// If T ≤ 0 or T² ≤ q·(n + m), the interval is 0 to 100 percent. docs/guarantee.md, "Histograms",
// describes the other cases.
func (s *Search) Share(first, end int, within float64) (e Estimate, met bool, err error) {
	in, all, err := s.sums(first, end)
	if err != nil {
		return e, false, err
	}
	value, low, high := int64(0), int64(0), int64(wholeShare)
	if all.Sign() > 0 {
		value = partOf(in, all, new(big.Int).Rsh(all, 1))
	}
	// The coefficients are multiplied by the denominator of q.
	a, b, c := s.coefficient(all, all, s.Scale.buckets()), s.coefficient(in, all, end-first), s.coefficient(in, in,
		end-first)
	if !s.Beyond && all.Sign() > 0 && a.Sign() > 0 {
		root := new(big.Int).Mul(b, b)
		root.Sub(root, c.Mul(a, c)) // above 0: the inequality holds for s = A/T
		root.Add(root.Sqrt(root), big.NewInt(1))
		from, to := new(big.Int).Sub(b, root), new(big.Int).Add(b, root)
		if from.Cmp(a) <= 0 && to.Sign() >= 0 {
			low, high = partOf(from, a, new(big.Int)), partOf(to, a, new(big.Int).Sub(a, big.NewInt(1)))
			met = within > 0
		}
	}
	low, high = min(low, value), max(high, value)
	e = Estimate{Value: value, Low: float64(low) / valueUnits, High: float64(high) / valueUnits}
	e.StdDev = (e.High - e.Low) / (2 * confidentWidth)
	share := float64(value) / valueUnits
	return e, met && share-e.Low <= within && e.High-share <= within, nil
}

// wholeShare is 100 percent, in units of a released value.
const wholeShare = 100 * valueUnits

// partOf returns ⌊(wholeShare·x + add)/y⌋, clamped to 0 to wholeShare. y is above 0.
func partOf(x, y, add *big.Int) int64 {
	part := new(big.Int).Mul(x, big.NewInt(wholeShare))
	part.Div(part.Add(part, add), y)
	switch {
	case part.Sign() < 0:
		return 0
	case part.Cmp(big.NewInt(wholeShare)) > 0:
		return wholeShare
	}
	return part.Int64()
}

// coefficient returns x·y − q·n, multiplied by the denominator of q.
func (s *Search) coefficient(x, y *big.Int, n int) *big.Int {
	xy := new(big.Int).Mul(x, y)
	xy.Mul(xy, s.Square.Denom())
	return xy.Sub(xy, new(big.Int).Mul(s.Square.Num(), big.NewInt(int64(n))))
}

// sums returns the noisy numbers of values in the buckets from first to before end, and in all.
func (s *Search) sums(first, end int) (in, all *big.Int, err error) {
	in, all = new(big.Int), new(big.Int)
	for i := range s.Scale.buckets() {
		children, err := s.children(Root + Node(i/Branching))
		if err != nil {
			return nil, nil, err
		}
		all.Add(all, children[i%Branching])
		if first <= i && i < end {
			in.Add(in, children[i%Branching])
		}
	}
	return in, all, nil
}

// shareAim returns the required relative error of the number of events. With k buckets, the
// deviation of a share is at most √(k − 1) times that of one count, divided by the number of
// events; a count has an eighth of that number's variance. The conversions prevent fused products,
// so that every machine has the same ladder.
func shareAim(s *Scale, _ []int64, absolute, _ float64) float64 {
	return floorAim(0.98 * float64(absolute/100*math.Sqrt(NodesFiner/float64(s.buckets()-1))))
}
