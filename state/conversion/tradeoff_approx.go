package conversion

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// profile is the curve of (ε, δ) guarantees. In δ as a function of e^ε, which is
// convex, they are points, and whatever is on a line between two of them or above
// is true, too. A guarantee for both directions has a mirror image at −ε with
// δ' = 1 − e^−ε·(1 − δ).
//
// 1 − δ is never computed where a small δ matters: from 1e-17 down it would be lost.
type profile struct {
	// knots are the corners of that convex function, by rising ε and falling δ.
	knots []knot
}

// knot is a guarantee or the mirror image of one. Its delta is exact for a guarantee
// and an upper bound for an image; gamma is e^ε, exact to a relative 2^-340.
type knot struct {
	epsilon      float64
	gamma, delta *big.Float
}

func newProfile(guarantees []loss.Approx) profile {
	sorted := slices.Clone(guarantees)
	slices.SortFunc(sorted, func(a, b loss.Approx) int {
		return cmp.Or(cmp.Compare(a.Epsilon, b.Epsilon), cmp.Compare(a.Delta, b.Delta))
	})
	var forward []knot
	for _, a := range sorted {
		last := len(forward) - 1
		if last >= 0 && forward[last].delta.Cmp(bigmath.New(a.Delta)) <= 0 {
			continue // implied by a guarantee of a smaller ε
		}
		forward = append(forward, knot{a.Epsilon, bigmath.Exp(bigmath.New(a.Epsilon)), bigmath.New(a.Delta)})
	}
	var all []knot
	for i := len(forward) - 1; i >= 0; i-- {
		if forward[i].epsilon > 0 {
			all = append(all, forward[i].image())
		}
	}
	var p profile
	for _, k := range append(all, forward...) {
		for len(p.knots) >= 2 && !below(p.knots[len(p.knots)-2], p.knots[len(p.knots)-1], k) {
			p.knots = p.knots[:len(p.knots)-1]
		}
		p.knots = append(p.knots, k)
	}
	return p
}

// image returns the mirror image of k at −ε: 1 − e^−ε·(1 − δ) = δ + (1 − δ)·(1 − e^−ε),
// too high by 2^-140 of itself or of what is missing to 1.
func (k knot) image() knot {
	gamma := bigmath.Exp(bigmath.New(-k.epsilon))
	rest := bigmath.Zero().Sub(bigmath.New(1), k.delta)
	delta := bigmath.Zero().Mul(rest, bigmath.Expm1(bigmath.New(-k.epsilon)))
	delta.Sub(k.delta, delta)
	delta.Add(delta, bigmath.Margin(least(delta, rest.Mul(rest, gamma))))
	return knot{-k.epsilon, gamma, delta}
}

// upTo returns e^ε − e^ε' for ε' of k, to a relative 2^-180 also where they are near.
func (k knot) upTo(epsilon float64) *big.Float {
	apart := bigmath.Zero().Sub(bigmath.New(epsilon), bigmath.New(k.epsilon))
	return apart.Mul(bigmath.Expm1(apart), k.gamma)
}

// below reports whether b is below the line from a to c.
func below(a, b, c knot) bool {
	left := bigmath.Zero().Sub(a.delta, b.delta)
	left.Mul(left, b.upTo(c.epsilon))
	right := bigmath.Zero().Sub(b.delta, c.delta)
	right.Mul(right, a.upTo(b.epsilon))
	return left.Cmp(right) > 0
}

// crossing returns where the lines of the curve that belong to two successive knots
// meet: an α, and the power 1 − β of the test there.
func crossing(j, k knot) (alpha, power *big.Float) {
	alpha = bigmath.Zero().Sub(j.delta, k.delta)
	alpha.Quo(alpha, j.upTo(k.epsilon))
	power = bigmath.Zero().Mul(k.gamma, alpha)
	return alpha, power.Add(power, k.delta)
}

// last returns the guarantee of the greatest ε, which has the least δ.
func (p profile) last() knot { return p.knots[len(p.knots)-1] }

func (p profile) typeII(alpha float64) float64 {
	a := bigmath.New(alpha)
	best := bigmath.Zero()
	for _, k := range p.knots {
		if k.epsilon < 0 {
			continue
		}
		// 1 − δ − e^ε·α and (1 − δ − α)/e^ε, both rounded down.
		whole := bigmath.Down().Sub(bigmath.New(1), k.delta)
		gamma := bigmath.Up().Add(k.gamma, bigmath.Margin(k.gamma))
		steep := bigmath.Down().Sub(whole, bigmath.Up().Mul(gamma, a))
		flat := bigmath.Down().Sub(whole, a)
		if flat.Sign() > 0 && k.epsilon > 0 {
			flat.Quo(flat, gamma)
		}
		if k.epsilon == 0 {
			steep = flat
		}
		best = greatest(best, greatest(steep, flat))
	}
	return bigmath.RoundDown(best)
}

func (p profile) delta(epsilon float64) (float64, error) {
	i, exact := slices.BinarySearchFunc(p.knots, epsilon, func(k knot, e float64) int { return cmp.Compare(k.epsilon, e) })
	switch {
	case exact:
		return bigmath.RoundUp(p.knots[i].delta), nil
	case i == len(p.knots):
		return bigmath.RoundUp(p.last().delta), nil
	}
	// The first knot is an image, or has ε = 0: it is never above ε.
	j, k := p.knots[i-1], p.knots[i]
	here := knot{epsilon: epsilon, gamma: bigmath.Exp(bigmath.New(epsilon))}
	part := here.upTo(k.epsilon)
	part.Quo(part, j.upTo(k.epsilon))
	part.Mul(part, bigmath.Zero().Sub(j.delta, k.delta))
	part.Add(part, bigmath.Margin(part))
	delta := bigmath.RoundUp(bigmath.Up().Add(k.delta, part))
	return min(delta, 1), nil
}

func (p profile) epsilon(delta float64) (float64, error) {
	target := bigmath.New(delta)
	least := p.last()
	if least.delta.Cmp(target) > 0 {
		value, _ := least.delta.Float64()
		return 0, &units.RangeError{Parameter: "delta", Value: delta, Range: fmt.Sprintf("at least %v, which the curve gives away at every epsilon", value)}
	}
	i, _ := slices.BinarySearchFunc(p.knots, target, func(k knot, d *big.Float) int { return d.Cmp(k.delta) })
	k := p.knots[i] // the first that is not above the target
	if i == 0 || k.epsilon <= 0 {
		return 0, nil
	}
	if k.delta.Cmp(target) == 0 {
		return k.epsilon, nil
	}
	j := p.knots[i-1]
	// e^(ε−ε_j) = 1 + (e^(ε_k−ε_j) − 1)·(δ_j − δ)/(δ_j − δ_k)
	apart := bigmath.Zero().Sub(bigmath.New(k.epsilon), bigmath.New(j.epsilon))
	part := bigmath.Zero().Sub(j.delta, target)
	part.Quo(part, bigmath.Zero().Sub(j.delta, k.delta))
	part.Mul(part, bigmath.Expm1(apart))
	sum := bigmath.Log(part.Add(part, bigmath.New(1)))
	// Errors are below 2^-340 of the sizes added here, and of 1.
	size := bigmath.New(0x1p-100)
	size.Add(size, bigmath.Zero().Abs(sum))
	size.Add(size, bigmath.New(math.Abs(j.epsilon)))
	sum.Add(sum, bigmath.New(j.epsilon))
	sum.Add(sum, bigmath.Margin(size))
	return min(max(bigmath.RoundUp(sum), 0), k.epsilon), nil
}

func (p profile) gdp() (loss.GDP, error) {
	if least := p.last(); least.delta.Sign() > 0 {
		value, _ := least.delta.Float64()
		return loss.GDP{}, &units.RangeError{Parameter: "delta", Value: value, Range: "0 at some epsilon for a Gaussian guarantee to follow"}
	}
	mu := bigmath.Zero()
	for i, k := range p.knots {
		if k.epsilon <= 0 {
			continue // the mirror image of another corner, or none
		}
		mu = greatest(mu, corneredBetween(p.knots[i-1], k))
	}
	return loss.GDP{Mu: bigmath.RoundUp(mu)}, nil
}

// corneredBetween returns an upper bound of the μ whose Gaussian curve goes through the
// corner between the lines of two successive knots, k with ε > 0. Where j is an image
// that corner is the fixed point f(α) = α = (1 − δ)/(1 + e^ε); before it f(α) > α.
func corneredBetween(j, k knot) *big.Float {
	alpha, power := crossing(j, k)
	if j.epsilon < 0 {
		alpha.Sub(bigmath.New(1), k.delta)
		alpha.Quo(alpha, bigmath.Zero().Add(k.gamma, bigmath.New(1)))
	}
	alpha.Sub(alpha, bigmath.Margin(alpha))
	power.Add(power, bigmath.Margin(power))
	if j.epsilon < 0 || power.Cmp(bigmath.New(1-0x1p-50)) > 0 {
		twice := bigmath.QuantileAbove(alpha)
		return twice.Add(twice, twice)
	}
	return separation(alpha, power)
}

// separation returns an upper bound of the μ whose Gaussian curve goes through
// (α, 1 − power): Φ⁻¹(1 − α) − Φ⁻¹(1 − power).
func separation(alpha, power *big.Float) *big.Float {
	return bigmath.Up().Sub(bigmath.QuantileAbove(alpha), bigmath.QuantileBelow(power))
}

func (p profile) rdp(orders []float64) (loss.RDP, error) {
	certain := p.last().delta.Sign() > 0
	return polygonRDP(p.segments(), certain, certain, orders)
}

// segments returns the straight pieces of a curve with f(0) = 1. Those of the images
// have the lengths in β of those of the guarantees, e^ε times their lengths in α: so
// short ones near α = 1 keep their digits.
func (p profile) segments() []segment {
	var pieces []segment
	add := func(epsilon float64, length, size *big.Float) {
		length.Add(length, bigmath.Margin(size))
		pieces = append(pieces, segment{bigmath.New(epsilon), length})
	}
	next := bigmath.Zero() // α where the piece to the left of this one ends
	for i := len(p.knots) - 1; i > 0 && p.knots[i].epsilon >= 0; i-- {
		k := p.knots[i]
		if k.epsilon == 0 {
			break
		}
		alpha, _ := crossing(p.knots[i-1], k)
		length := bigmath.Zero().Sub(alpha, next)
		add(k.epsilon, bigmath.Zero().Set(length), alpha)
		add(-k.epsilon, length.Mul(length, k.gamma), bigmath.Zero().Mul(alpha, k.gamma))
		next = alpha
	}
	for i, k := range p.knots {
		if k.epsilon != 0 {
			continue
		}
		middle := bigmath.New(1)
		if i+1 < len(p.knots) {
			alpha, power := crossing(k, p.knots[i+1])
			middle.Sub(middle, alpha)
			middle.Sub(middle, power)
		}
		add(0, greatest(middle, bigmath.Zero()), bigmath.New(1))
	}
	return pieces
}

func greatest(x, y *big.Float) *big.Float {
	if x.Cmp(y) >= 0 {
		return x
	}
	return y
}
