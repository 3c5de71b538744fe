package metrickind

import (
	"math/big"
	"slices"
)

// Search computes statistics from noisy counts of a tree's nodes. It draws each node that it needs
// only once, and uses only the drawn counts. A Search is not safe for concurrent use.
type Search struct {
	Scale *Scale
	// Draw returns noisy counts of the children of a node. The errors of the counts are independent
	// and normal, and all have the same variance.
	Draw func(parent Node) ([Branching]*big.Int, error)
	// Square is (z·σ)², in squared units of Draw. σ² is the variance of a drawn count. z is the
	// half-width of an interval, in deviations, at which the intervals on all levels hold jointly.
	Square *big.Rat
	Events *big.Rat // noisy number of all events, in the unit of Draw
	Beyond bool     // set if counts may have been clamped to the releasable range, so no interval is known

	drawn map[Node]*[Branching]*big.Int
}

// Begin draws the nodes that are always needed (the children of the root for quantiles, all buckets
// for a histogram) and returns their noisy counts. Square, Events and Beyond need not be set
// before. Begin returns the errors of Draw.
func (s *Search) Begin() (all []*big.Int, err error) {
	for parent := Root; parent == Root || int(parent-Root)*Branching < s.Scale.buckets(); parent++ {
		children, err := s.children(parent)
		if err != nil {
			return nil, err
		}
		all = append(all, children[:]...)
	}
	return all, nil
}

// Quantile returns the quantile of a rank, with its interval, and whether the error of its rank is
// at most within. rank and within are in millionths.
//
// For a value x, let D(x) be the number of events with values below x minus the rank times the
// number of all events. If D(x) < 0, the quantile is at least x. D(x) equals (1 − rank) times the
// number of events below x, minus rank times the number of other events. At an edge between a
// node's children, both numbers are sums over drawn nodes, so the variance of D is known. These
// sums do not depend on which other nodes are drawn.
func (s *Search) Quantile(rank, within int64) (e Estimate, met bool, err error) {
	value, err := s.estimate(rank)
	if err != nil {
		return e, false, err
	}
	low, high := s.Scale.min, s.Scale.max
	if !s.Beyond {
		if err := s.narrow(rank); err != nil {
			return e, false, err
		}
		low, high = s.bound(rank, lower), s.bound(rank, upper)
		met = within > 0 && (rank <= within || value >= s.bound(rank-within, upper)<<10) && (rank+within >= RankUnit ||
			value <= s.bound(rank+within, lower)<<10)
	}
	if low > high { // the ends contradict each other
		low, high, met = s.Scale.min, s.Scale.max, false
	}
	e.Value = min(max(value, low<<10), high<<10)
	if e.Value != value {
		met = false
	}
	e.Low, e.High = float64(low), float64(high)
	e.StdDev = (e.High - e.Low) / (2 * confidentWidth)
	return e, met, nil
}

// confidentWidth is the half-width of a 95% interval in deviations, for display.
const confidentWidth = 1.96

// Drawn returns the nodes whose children were drawn, in ascending order.
func (s *Search) Drawn() (parents []Node) {
	for n := range s.drawn {
		parents = append(parents, n)
	}
	slices.Sort(parents)
	return parents
}

// place is a node on a path from the root. On each side of the path, it has the sum over the
// siblings of the path's nodes.
type place struct {
	node          Node
	left, right   *big.Int // noisy counts
	lefts, rights int64    // numbers of nodes summed in left and right
}

func (p place) level() int { return p.node.level() }

func (p place) child(children *[Branching]*big.Int, i int) place {
	child := place{p.node.Child(i), new(big.Int).Set(p.left), new(big.Int).Set(p.right), p.lefts + int64(i), p.rights +
		int64(Branching-1-i)}
	for j, count := range children {
		switch {
		case j < i:
			child.left.Add(child.left, count)
		case j > i:
			child.right.Add(child.right, count)
		}
	}
	return child
}

// difference returns RankUnit·D at the left edge of the i-th child of p's node, or at the right
// edge of the last child if i is Branching. Its variance is in units of one node's variance.
func (p place) difference(children *[Branching]*big.Int, i int, rank int64) (d *big.Int, variance int64) {
	left, right := new(big.Int).Set(p.left), new(big.Int).Set(p.right)
	for j, count := range children {
		if j < i {
			left.Add(left, count)
		} else {
			right.Add(right, count)
		}
	}
	left.Mul(left, big.NewInt(RankUnit-rank))
	right.Mul(right, big.NewInt(rank))
	n, m := p.lefts+int64(i), p.rights+int64(Branching-i)
	return left.Sub(left, right), n*(RankUnit-rank)*(RankUnit-rank) + m*rank*rank
}

// sign returns the sign of D at the left edge of a child if that is significant, else 0.
func (s *Search) sign(p place, children *[Branching]*big.Int, i int, rank int64) side {
	d, variance := p.difference(children, i, rank)
	most := new(big.Int).Mul(s.Square.Num(), big.NewInt(variance))
	if square := new(big.Int).Mul(d, d); square.Mul(square, s.Square.Denom()).Cmp(most) <= 0 {
		return 0
	}
	return side(d.Sign())
}

func (s *Search) root() place { return place{Root, new(big.Int), new(big.Int), 0, 0} }

func (s *Search) children(n Node) (*[Branching]*big.Int, error) {
	if drawn := s.drawn[n]; drawn != nil {
		return drawn, nil
	}
	drawn, err := s.Draw(n)
	if err != nil {
		return nil, err
	}
	if s.drawn == nil {
		s.drawn = map[Node]*[Branching]*big.Int{}
	}
	s.drawn[n] = &drawn
	return &drawn, nil
}

// estimate returns the quantile in units of 2^-10. It takes the mean of Events and the sum over the
// root's children as the number of all events. From the root downward, it divides each node's
// estimate among the node's children, and continues in the child in which the sum from the left
// reaches the rank.
func (s *Search) estimate(rank int64) (int64, error) {
	children, err := s.children(Root)
	if err != nil {
		return 0, err
	}
	// A common factor makes every division exact, as 840 is a multiple of every number from 1 to 8.
	factor := new(big.Int).Exp(big.NewInt(840), big.NewInt(int64(s.Scale.Levels())), nil)
	factor.Mul(factor, s.Events.Denom())
	total := new(big.Int).Mul(factor, s.Events.Num())
	total.Quo(total, s.Events.Denom())
	for _, y := range children {
		total.Add(total, new(big.Int).Mul(y, factor))
	}
	if total.Sign() < 0 {
		total.SetInt64(0)
	}
	factor.Lsh(factor, 1) // total is the sum, not the mean, of two numbers
	target := new(big.Int).Mul(total, big.NewInt(rank))
	node, left, n := Root, new(big.Int), total
	for range s.Scale.Levels() {
		if children, err = s.children(node); err != nil {
			return 0, err
		}
		i, parts := 0, divide(n, children, factor)
		for ; i+1 < Branching; i++ {
			after := new(big.Int).Add(left, parts[i])
			if new(big.Int).Mul(after, big.NewInt(RankUnit)).Cmp(target) >= 0 {
				break
			}
			left = after
		}
		node, n = node.Child(i), parts[i]
	}
	least, greatest := s.Scale.Values(node)
	if greatest = min(greatest, s.Scale.max); greatest <= least {
		return min(least, s.Scale.max) << 10, nil
	}
	part := big.NewRat(1, 2)
	if n.Sign() > 0 {
		part.SetFrac(target.Sub(target, left.Mul(left, big.NewInt(RankUnit))), n.Mul(n, big.NewInt(RankUnit)))
		part = clamp(part, new(big.Rat), big.NewRat(1, 1))
	}
	return least<<10 + nearest(part.Mul(part, big.NewRat(greatest-least, 1))), nil
}

// divide returns the nonnegative numbers with sum n ≥ 0 whose squared differences from the drawn
// counts of a node's children have the smallest sum. Each of these numbers is the child's count
// minus a common number, or 0 if that is negative. n and the result are multiplied by factor.
func divide(n *big.Int, drawn *[Branching]*big.Int, factor *big.Int) (parts [Branching]*big.Int) {
	for i, y := range drawn {
		parts[i] = new(big.Int).Mul(y, factor)
	}
	descending := parts
	slices.SortFunc(descending[:], func(a, b *big.Int) int { return b.Cmp(a) })
	sum, less := new(big.Int).Neg(n), new(big.Int).Set(descending[0])
	for k, y := range descending { // the k + 1 greatest numbers, each minus less, add up to n
		if sum.Add(sum, y); new(big.Int).Mul(y, big.NewInt(int64(k+1))).Cmp(sum) <= 0 {
			break
		}
		less.Quo(sum, big.NewInt(int64(k+1)))
	}
	for i := range parts {
		if parts[i].Sub(parts[i], less); parts[i].Sign() < 0 {
			parts[i].SetInt64(0)
		}
	}
	return parts
}

// narrow draws, level by level, the children of the nodes that contain the ends of a rank's
// interval. It continues as long as the interval spans at most two children, because only then does
// the interval become much narrower. If the interval contains an edge between nodes, its ends are
// on different paths from the root, and the estimate is on at most one of the paths.
func (s *Search) narrow(rank int64) error {
	for p := s.root(); p.level() < s.Scale.Levels(); {
		children, err := s.children(p.node)
		if err != nil {
			return err
		}
		low, high := s.end(p, children, rank, lower), s.end(p, children, rank, upper)
		switch high - low {
		case 0:
			p = p.child(children, low)
			continue
		case 1:
			if err := s.narrowEnd(p.child(children, low), rank, lower); err != nil {
				return err
			}
			return s.narrowEnd(p.child(children, high), rank, upper)
		}
		return nil
	}
	return nil
}

// narrowEnd draws the nodes on the path to one end of an interval. It continues as long as the path
// leads to the outermost child, which adjoins the edge inside the interval.
func (s *Search) narrowEnd(p place, rank int64, which side) error {
	outermost := 0
	if which == lower {
		outermost = Branching - 1
	}
	for p.level() < s.Scale.Levels() {
		children, err := s.children(p.node)
		if err != nil {
			return err
		}
		if s.end(p, children, rank, which) != outermost {
			return nil
		}
		p = p.child(children, outermost)
	}
	return nil
}

// side identifies an end of an interval. Its value is the sign of D outside that end.
type side int

const lower, upper side = -1, 1

// end returns the index of the child that contains one end of a rank's interval. Starting from
// outside, it passes edges as long as D has the sign of that side and differs significantly from 0.
func (s *Search) end(p place, children *[Branching]*big.Int, rank int64, which side) int {
	passed := 0
	for passed+1 < Branching && s.sign(p, children, outer(passed+1, Branching, which), rank) == which {
		passed++
	}
	return outer(passed, Branching-1, which)
}

// outer returns the i-th of the numbers 0 to last, counted from the side which.
func outer(i, last int, which side) int {
	if which == lower {
		return i
	}
	return last - i
}

// bound returns one end of a rank's interval: a value that is at most (lower) or at least (upper)
// the quantile, with the confidence of one end of an interval.
func (s *Search) bound(rank int64, which side) int64 {
	p := s.root()
	for s.drawn[p.node] != nil {
		children := s.drawn[p.node]
		p = p.child(children, s.end(p, children, rank, which))
	}
	least, greatest := s.Scale.Values(p.node)
	if which == lower {
		return min(least, s.Scale.max)
	}
	return max(greatest, s.Scale.min)
}
