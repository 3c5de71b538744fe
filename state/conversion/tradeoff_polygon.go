package conversion

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"sort"

	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// corner is a point of a polygon, exactly.
type corner struct{ alpha, beta *big.Rat }

// one is where every trade-off curve ends.
var one = corner{big.NewRat(1, 1), new(big.Rat)}

// polygon is a convex, falling polygon from α = 0 to (1, 0).
type polygon struct{ corners []corner }

// nothing is f = 0.
var nothing = polygon{[]corner{{new(big.Rat), new(big.Rat)}, one}}

// exactPoints returns the points by rising α; no point is above 1 − α.
func exactPoints(points []Point) ([]corner, error) {
	if len(points) == 0 {
		return nil, &units.RangeError{Parameter: "points", Value: 0, Range: "at least one"}
	}
	corners := make([]corner, len(points))
	for i, p := range points {
		if err := checkPoint(p); err != nil {
			return nil, err
		}
		c := corner{new(big.Rat).SetFloat64(p.Alpha), new(big.Rat).SetFloat64(p.Beta)}
		if most := new(big.Rat).Sub(one.alpha, c.alpha); c.beta.Cmp(most) > 0 {
			c.beta = most // 1 − α of float64 may be above 1 − α
		}
		corners[i] = c
	}
	slices.SortFunc(corners, func(a, b corner) int {
		return cmp.Or(a.alpha.Cmp(b.alpha), a.beta.Cmp(b.beta))
	})
	return corners, nil
}

// newPolygon returns the convex polygon below corners that are sorted by α, the first
// at α = 0 and the last at (1, 0).
func newPolygon(corners []corner) polygon {
	var hull []corner
	for _, c := range corners {
		if n := len(hull); n > 0 && hull[n-1].alpha.Cmp(c.alpha) == 0 {
			if hull[n-1].beta.Cmp(c.beta) <= 0 {
				continue
			}
			hull = hull[:n-1]
		}
		for len(hull) >= 2 && slope(hull[len(hull)-2], hull[len(hull)-1]).Cmp(slope(hull[len(hull)-1], c)) <= 0 {
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, c)
	}
	return polygon{hull}
}

// slope returns how steeply the line from a to b falls.
func slope(a, b corner) *big.Rat {
	fall := new(big.Rat).Sub(a.beta, b.beta)
	return fall.Quo(fall, new(big.Rat).Sub(b.alpha, a.alpha))
}

// impliedCorners returns corners whose polygon is the greatest convex curve that is
// below every trade-off curve f with f ≥ β at the points. By f(1) = 0 and convexity
// f(x) ≥ β·(1−x)/(1−α) for x ≤ α, by f(0) ≤ 1 f(x) ≥ 1 − x·(1−β)/α for x ≥ α; the
// greatest of these over the points is straight but for the points and the crossing of
// two such lines between neighbours.
func impliedCorners(points []corner) []corner {
	n := len(points)
	// flat[i] is the greatest β/(1−α) from the i-th point on: f(x) ≥ flat·(1−x)
	// before it. steep[i] is the least (1−β)/α up to it; nil where there is no such point.
	flat, steep := make([]*big.Rat, n+1), make([]*big.Rat, n)
	flat[n] = new(big.Rat)
	for i := n - 1; i >= 0; i-- {
		flat[i] = flat[i+1]
		if rest := new(big.Rat).Sub(one.alpha, points[i].alpha); rest.Sign() > 0 {
			flat[i] = greater(flat[i], rest.Quo(points[i].beta, rest))
		}
	}
	for i, p := range points {
		if i > 0 {
			steep[i] = steep[i-1]
		}
		if p.alpha.Sign() > 0 {
			s := new(big.Rat).Sub(one.alpha, p.beta)
			s.Quo(s, p.alpha)
			if steep[i] == nil || s.Cmp(steep[i]) < 0 {
				steep[i] = s
			}
		}
	}
	corners := []corner{{new(big.Rat), shortened(flat[0])}}
	for i, p := range points {
		after, end := flat[i+1], one.alpha
		if i+1 < n {
			end = points[i+1].alpha
		}
		if steep[i] == nil {
			corners = append(corners, corner{p.alpha, shortened(onFlat(after, p.alpha))})
			continue
		}
		corners = append(corners, corner{p.alpha, shortened(greater(onFlat(after, p.alpha), onSteep(steep[i], p.alpha)))})
		// 1 − s·x = b·(1 − x)
		x := new(big.Rat).Sub(steep[i], after)
		if x.Sign() <= 0 {
			continue
		}
		x.Quo(new(big.Rat).Sub(one.alpha, after), x)
		if x.Cmp(p.alpha) > 0 && x.Cmp(end) < 0 {
			corners = append(corners, corner{shortened(x), shortened(onFlat(after, x))})
		}
	}
	return append(corners, one)
}

// shortened returns x rounded down to 384 bits. As a curve falls, a corner that is moved
// to the left and down leaves a polygon that is below.
func shortened(x *big.Rat) *big.Rat {
	short, _ := bigmath.Down().SetRat(x).Rat(nil)
	return short
}

func onFlat(b, x *big.Rat) *big.Rat {
	y := new(big.Rat).Sub(one.alpha, x)
	return y.Mul(y, b)
}

func onSteep(s, x *big.Rat) *big.Rat {
	y := new(big.Rat).Mul(s, x)
	return greater(y.Sub(one.alpha, y), new(big.Rat))
}

func greater(x, y *big.Rat) *big.Rat {
	if x.Cmp(y) >= 0 {
		return x
	}
	return y
}

// power returns 1 − β.
func (c corner) power() *big.Rat { return new(big.Rat).Sub(one.alpha, c.beta) }

func (p polygon) typeII(alpha float64) float64 {
	x := new(big.Rat).SetFloat64(alpha)
	i := sort.Search(len(p.corners), func(i int) bool { return p.corners[i].alpha.Cmp(x) >= 0 })
	right := p.corners[i] // the last has α = 1
	y := new(big.Rat).Set(right.beta)
	if right.alpha.Cmp(x) != 0 {
		rise := slope(p.corners[i-1], right)
		y.Add(y, rise.Mul(rise, new(big.Rat).Sub(right.alpha, x)))
	}
	return bigmath.RoundDown(bigmath.Down().SetRat(y))
}

func (p polygon) delta(epsilon float64) (float64, error) {
	gamma := bigmath.Exp(bigmath.New(epsilon))
	gamma.Sub(gamma, bigmath.Margin(gamma))
	if epsilon == 0 {
		gamma = bigmath.New(1)
	}
	best := bigmath.Zero()
	for _, c := range p.corners {
		taken := bigmath.Down().SetRat(c.alpha)
		taken.Mul(taken, gamma)
		best = greatest(best, bigmath.Up().Sub(bigmath.Up().SetRat(c.power()), taken))
	}
	return min(bigmath.RoundUp(best), 1), nil
}

// epsilon returns the greatest ln((1 − β − δ)/α) over the corners: at that ε none of
// them gives more than δ away.
func (p polygon) epsilon(delta float64) (float64, error) {
	given := new(big.Rat).SetFloat64(delta)
	first := p.corners[0]
	if given.Cmp(first.power()) < 0 {
		value := bigmath.RoundUp(bigmath.Up().SetRat(first.power()))
		return 0, &units.RangeError{Parameter: "delta", Value: delta, Range: fmt.Sprintf("at least %v, which the curve gives away at every epsilon", value)}
	}
	best := 0.0
	for _, c := range p.corners[1:] {
		ratio := new(big.Rat).Sub(c.power(), given)
		ratio.Quo(ratio, c.alpha)
		if ratio.Cmp(one.alpha) <= 0 {
			continue
		}
		log := bigmath.Log(bigmath.Up().SetRat(ratio))
		log.Add(log, bigmath.Margin(bigmath.Zero().Add(log, bigmath.New(0x1p-100))))
		best = max(best, bigmath.RoundUp(log))
	}
	return best, nil
}

func (p polygon) gdp() (loss.GDP, error) {
	if first := p.corners[0]; first.beta.Cmp(one.alpha) < 0 {
		value := bigmath.RoundUp(bigmath.Up().SetRat(first.power()))
		return loss.GDP{}, &units.RangeError{Parameter: "delta", Value: value, Range: "0 at some epsilon for a Gaussian guarantee to follow"}
	}
	mu := bigmath.Zero()
	for _, c := range p.corners[1 : len(p.corners)-1] {
		if c.beta.Sign() == 0 {
			value, _ := c.alpha.Float64()
			return loss.GDP{}, &units.RangeError{Parameter: "alpha", Value: value, Range: "1 where the type II error becomes 0, for a Gaussian guarantee to follow"}
		}
		mu = greatest(mu, c.separation())
	}
	return loss.GDP{Mu: bigmath.RoundUp(mu)}, nil
}

// separation returns an upper bound of the μ whose Gaussian curve goes through c, by β
// or by 1 − β, whichever is small.
func (c corner) separation() *big.Float {
	alpha := bigmath.Down().SetRat(c.alpha)
	if power := bigmath.Up().SetRat(c.power()); power.Cmp(bigmath.New(0.5)) < 0 {
		return separation(alpha, power)
	}
	beta := bigmath.QuantileAbove(bigmath.Down().SetRat(c.beta))
	return bigmath.Up().Add(bigmath.QuantileAbove(alpha), beta)
}

func (p polygon) rdp(orders []float64) (loss.RDP, error) {
	var segments []segment
	certainI, certainII := p.corners[0].beta.Cmp(one.alpha) < 0, false
	for i, right := range p.corners[1:] {
		fall := slope(p.corners[i], right)
		if fall.Sign() == 0 {
			certainII = true
			continue
		}
		length := bigmath.Up().SetRat(new(big.Rat).Sub(right.alpha, p.corners[i].alpha))
		segments = append(segments, segment{bigmath.Log(bigmath.Zero().SetRat(fall)), length})
	}
	return polygonRDP(segments, certainI, certainII, orders)
}
