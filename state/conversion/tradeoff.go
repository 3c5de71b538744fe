package conversion

import (
	"cmp"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// TradeOff is f-differential privacy (Dong, Roth and Su, 2022, Definition 2.3): every
// test of whether an individual is in the data that has a type I error of at most α
// has a type II error of at least f(α), and the other way round. f is convex, does
// not rise and is at most 1 − α.
//
// It is the exact curve of a Gaussian guarantee, the curve that (ε, δ) guarantees
// imply, or a polygon. What is read from it is rounded so that it stays true.
//
// The zero value is f = 0, which promises nothing. A TradeOff is immutable and may be
// copied and used concurrently.
type TradeOff struct{ of shape }

// shape is what there is to know of one kind of curve. Arguments are in range.
type shape interface {
	typeII(alpha float64) float64
	delta(epsilon float64) (float64, error)
	epsilon(delta float64) (float64, error)
	gdp() (loss.GDP, error)
	rdp(orders []float64) (loss.RDP, error)
}

func (t TradeOff) shape() shape {
	if t.of == nil {
		return nothing
	}
	return t.of
}

// TypeIIAt returns f(α), rounded down: the least type II error of a test whose type I
// error is at most α. 0 ≤ α ≤ 1; the error is a *units.RangeError.
func (t TradeOff) TypeIIAt(alpha float64) (beta float64, err error) {
	if !(alpha >= 0 && alpha <= 1) {
		return 0, &units.RangeError{Parameter: "alpha", Value: alpha, Range: "at least 0 and at most 1"}
	}
	return t.shape().typeII(alpha), nil
}

// ToDelta returns the least δ for which the curve is (ε, δ)-DP, rounded up:
// 1 + f*(−e^ε) = max over α of 1 − f(α) − e^ε·α, by the convex conjugate f* (Dong, Roth
// and Su, 2022, Proposition 2.12). It may be 1, which promises nothing.
// 0 ≤ ε ≤ budgets.MaxEpsilon; the error is a *units.RangeError.
func (t TradeOff) ToDelta(epsilon float64) (delta float64, err error) {
	if err := checkEpsilon(epsilon); err != nil {
		return 0, err
	}
	return t.shape().delta(epsilon)
}

// ToEpsilon returns the least ε ≥ 0 at which the curve is (ε, δ)-DP, rounded up.
// 0 ≤ δ < 1, and not below what the curve gives away at every ε, 1 − f(0); for a
// Gaussian curve also at least budgets.MinDelta. The error is a *units.RangeError.
func (t TradeOff) ToEpsilon(delta float64) (epsilon float64, err error) {
	if !(delta >= 0 && delta < 1) {
		return 0, &units.RangeError{Parameter: "delta", Value: delta, Range: "at least 0 and below 1"}
	}
	return t.shape().epsilon(delta)
}

// ToGDP returns the least μ for which the curve is μ-GDP, rounded up. As the Gaussian
// curve is convex it is below a polygon iff it is below its corners, so that μ is the
// greatest Φ⁻¹(1 − α) − Φ⁻¹(f(α)) of them.
//
// No μ is enough, and the error is a *units.RangeError that names delta or alpha,
// where f(0) < 1 or f(α) = 0 for an α < 1: then some event gives the individual away
// for certain, and with Gaussians none does.
func (t TradeOff) ToGDP() (loss.GDP, error) { return t.shape().gdp() }

// ToRDP returns the least Rényi divergences that the curve implies at the orders
// given, rounded up: ln(∫|f'(x)|^(1−α) dx)/(α−1) (Dong, Roth and Su, 2022, Proposition
// B.6), or the same of the inverse of f if that is less, as f holds for both
// directions. It is +Inf at every order where both directions have an event that gives
// the individual away. The orders are above 1, finite and rise; the error is a
// *units.RangeError.
func (t TradeOff) ToRDP(orders []float64) (loss.RDP, error) { return t.shape().rdp(orders) }

// FromGDP returns the curve Φ(Φ⁻¹(1 − α) − μ) of μ-GDP. 0 ≤ μ ≤ budgets.MaxMu; the error
// is a *units.RangeError.
func FromGDP(g loss.GDP) (TradeOff, error) {
	if err := g.Validate(); err != nil {
		return TradeOff{}, err
	}
	if g.Mu > budgets.MaxMu {
		return TradeOff{}, &units.RangeError{Parameter: "mu", Value: g.Mu, Range: "at most 4096"}
	}
	return TradeOff{gaussian{g}}, nil
}

// FromApprox returns the curve of all the (ε, δ) guarantees given, which hold together
// for one mechanism: the greatest of 0, 1 − δ − e^ε·α and e^−ε·(1 − δ − α) over them
// (Wasserman and Zhou, 2010, Theorem 2.4; Dong, Roth and Su, 2022, Proposition 2.5).
// There is at least one, and 0 ≤ ε ≤ budgets.MaxEpsilon; the error is a
// *units.RangeError.
func FromApprox(guarantees ...loss.Approx) (TradeOff, error) {
	if len(guarantees) == 0 {
		return TradeOff{}, &units.RangeError{Parameter: "guarantees", Value: 0, Range: "at least one"}
	}
	for _, a := range guarantees {
		if err := cmp.Or(a.Validate(), checkEpsilon(a.Epsilon)); err != nil {
			return TradeOff{}, err
		}
	}
	return TradeOff{newProfile(guarantees)}, nil
}

// Point is a point of a trade-off curve, with 0 ≤ Alpha ≤ 1 and 0 ≤ Beta ≤ 1 − Alpha.
type Point struct {
	Alpha float64 // type I error
	Beta  float64 // type II error
}

// FromPoints returns the curve that follows if f(Alpha) ≥ Beta is known at the points
// given and nothing in between: what convexity, f(0) ≤ 1 and f(1) = 0 imply. Between
// two points it is below the line through them, so that samples of a curve do not
// promise more than the curve. The points may have any order; there is at least one.
// The error is a *units.RangeError.
func FromPoints(points []Point) (TradeOff, error) {
	corners, err := exactPoints(points)
	if err != nil {
		return TradeOff{}, err
	}
	return TradeOff{newPolygon(impliedCorners(corners))}, nil
}

// FromCorners returns the polygon through the points given and (1, 0), if f is known
// to be at least that everywhere: the guarantee is the polygon, not only its corners.
// Corners that are not convex are replaced by the convex polygon below them. The
// first corner has Alpha 0; the points may have any order. The error is a
// *units.RangeError.
//
// For samples of a curve this would promise too much: see FromPoints.
func FromCorners(points []Point) (TradeOff, error) {
	corners, err := exactPoints(points)
	if err != nil {
		return TradeOff{}, err
	}
	if first := corners[0].alpha; first.Sign() != 0 {
		value, _ := first.Float64()
		return TradeOff{}, &units.RangeError{Parameter: "alpha", Value: value, Range: "0 at the first corner"}
	}
	return TradeOff{newPolygon(append(corners, one))}, nil
}

func checkPoint(p Point) error {
	return cmp.Or(
		units.Require(p.Alpha >= 0 && p.Alpha <= 1, "alpha", p.Alpha, "at least 0 and at most 1"),
		units.Require(p.Beta >= 0 && p.Beta <= 1-p.Alpha, "beta", p.Beta, fmt.Sprintf("at least 0 and at most 1 - alpha (%v)", 1-p.Alpha)),
	)
}
