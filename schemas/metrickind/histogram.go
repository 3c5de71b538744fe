package metrickind

import (
	"math"
	"math/big"
)

// Histogram is the kind that releases the number of a key's events and, for each bucket, the share
// of events whose value is in the bucket.
const Histogram = "histogram"

// histogram returns the kind Histogram. The first component of a histogram's count is the number of
// kept events. A further component has a cell for each bucket, with the number of kept values in
// the bucket. All buckets of a released key are drawn: a user with c_b events in bucket b pays u·Σ
// c_b² (docs/guarantee.md, "Histograms").
func histogram() Kind {
	return Kind{
		Name:  Histogram,
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Value: countEvent,
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

// buckets returns the kind of a histogram's buckets. The key of a bucket's cell is the
// schemas.NodeKey of the bucket's leaf.
func buckets() Kind {
	return Kind{
		Name:  "histogram_buckets",
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Part:  &Part{Nodes: func(_ Bounds, edges []int64) (*Scale, error) { return Buckets(edges) }},
		Texts: Texts{Label: "bucket", Value: "number of values of {of} in a part of {min} to {max}"},
	}
}

// share returns the kind of one released share: the percentage of values from Bounds.Min to below
// Bounds.Max, which are edges of the histogram. The last bucket includes its upper edge. The
// metric's absolute target is in percentage points.
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

// Share returns the percentage of values in the buckets from first up to but not including end,
// with its confidence interval. met reports whether both ends of the interval differ from the
// percentage by at most within, which is in percentage points; met is false if within is 0. Share
// returns the errors of Draw. The scale must be a histogram's.
//
// Let A be the sum of the drawn counts of these n buckets, R the sum of the drawn counts of the m
// other buckets, and T = A + R. For the true share s, (1 − s)·A − s·R is normal with mean 0, and
// its variance is ((1 − s)²·n + s²·m) times the variance of one count. The interval consists of
// every s from 0 to 1 for which this expression is within z deviations of 0 (Fieller 1954). With q
// = z²·σ², the condition is
//
//	s²·(T² − q·(n + m)) − 2s·(A·T − q·n) + A² − q·n ≤ 0.
//
// If T ≤ 0 or T² ≤ q·(n + m), the interval is 0 to 100 percent. For the other cases, see
// docs/guarantee.md, "Histograms".
func (s *Search) Share(first, end int, within float64) (e Estimate, met bool, err error) {
	in, all, err := s.sums(first, end)
	if err != nil {
		return e, false, err
	}
	value, low, high := int64(0), int64(0), int64(wholeShare)
	if all.Sign() > 0 {
		value = partOf(in, all, new(big.Int).Rsh(all, 1))
	}
	// All coefficients of the inequality are multiplied by the denominator of q.
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

// wholeShare is 100 percent in units of 1/valueUnits.
const wholeShare = 100 * valueUnits

// partOf returns ⌊(wholeShare·x + add)/y⌋, clamped to 0 to wholeShare. y must be above 0.
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

// sums returns the noisy numbers of values in the buckets from first to before end, and in total.
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

// shareAim returns the relative error of the number of events at which shares meet the absolute
// target. With k buckets, the deviation of a share is at most √(k − 1) times the deviation of one
// bucket's count, divided by the number of events. A bucket's count has an eighth of the variance
// of the number of events. The conversions prevent fused products, so all machines have the same
// ladder.
func shareAim(s *Scale, _ []int64, absolute, _ float64) float64 {
	return floorAim(0.98 * float64(absolute/100*math.Sqrt(NodesFiner/float64(s.buckets()-1))))
}
