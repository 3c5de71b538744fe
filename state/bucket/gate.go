package bucket

import (
	"cmp"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Budget is what a user may spend: a composition must be covered by Mu-GDP up to Slack.
type Budget struct {
	Mu    float64 // B, between MinMu and MaxMu
	Slack float64 // a probability, between MinSlack and 0.1
}

func (b Budget) validate() error {
	return cmp.Or(
		units.Require(b.Mu >= MinMu && b.Mu <= MaxMu, "mu", b.Mu, "between 2^-20 and 128"),
		units.Require(b.Slack >= MinSlack && b.Slack <= 0.1, "slack", b.Slack, "between 1e-15 and 0.1"),
	)
}

// Gate decides which compositions fit a budget. It is the part of a Filter that all users share;
// the state of a single user is Counts. Not safe for concurrent use.
//
// A composition fits if
//
//	(a) δ(ε) ≤ δ_B(ε) + slack for every real ε, in both directions: because all pairs
//	    are Gaussian, sampled or not, with Σ σ̃^-2 ≤ B², or by Curve.CoveredBy,
//	(b) the mass at infinity of its pairs adds up to at most slack, and
//	(c) the Rényi divergences of their finite parts add up to at most α·B²/2 at every
//	    order α of Orders.
//
// # Promise
//
// If every mechanism that uses a user's data passes the gate, and refused ones use none of it:
//
//   - with buckets chosen adaptively, from all earlier outputs, the whole output is (ε, slack +
//     δ')-DP in both directions, if (ε, δ') follows from Rényi divergences α·B²/2 at any one of
//     Orders (Lemma C.4): EpsilonAt, DeltaAt.
//   - with buckets fixed beforehand, the whole output is (ε, slack + δ_B(ε))-DP for every ε.
//
// It does not promise B-GDP, nor the second line under adaptive choice: that is open (Koskela et
// al., Section 7). Their Section 5 goes from (a) without slack, by Blackwell's theorem, to (c) at
// all orders, and from there to the promise by Feldman and Zrnic's filter. With rounded numbers,
// (a) cannot hold without slack (and with subsampling it would gain nothing: see SmallestMu), and
// (a) with slack does not imply (c). Hence (c) is checked separately, at the orders behind the
// promises with a δ above slack.
//
// *Proof of the first line.* By Blackwell's theorem (Appendix C.6) each output is a function of a
// draw from the pair of its bucket. Let P' be the law of the run restricted to the paths without an
// infinite loss: by (b) all others have probability ≤ slack, so H(P‖Q) ≤ slack + H(P'‖Q). By (c)
// the process of Feldman and Zrnic, Theorem 3.1, for the finite parts, which are measures with
// total mass ≤ 1, is a supermartingale: E_Q (dP'/dQ)^α ≤ e^((α−1)·α·B²/2). Lemma C.4 bounds [1 −
// e^(ε−x)]₊ by e^((α−1)(x−ε)) at every loss x, which holds under P' as well.
type Gate struct {
	table  *Table
	budget Budget
	orders []float64 // α = λ + 1 for a prefix of lambdas
	limits []float64 // (α−1)·α·B²/2, rounded down
	curve  *Curve
	trial  Counts
}

// NewGate returns a gate for compositions of the table's buckets. The error is a *units.RangeError.
func NewGate(t *Table, b Budget) (*Gate, error) {
	if t == nil {
		return nil, &units.RangeError{Parameter: "table", Value: 0, Range: "made by NewTable"}
	}
	if err := b.validate(); err != nil {
		return nil, err
	}
	g := &Gate{table: t, budget: b, curve: t.NewCurve(), trial: t.NewCounts()}
	// The order α that minimises δ_α(ε) is about ½ + √(2·ln 1/δ)/B.
	highest := 2 + math.Sqrt(-2*math.Log(b.Slack))/b.Mu
	for _, l := range lambdas {
		if len(g.orders) > 0 && l+1 > highest {
			break
		}
		g.orders = append(g.orders, l+1)
		g.limits = append(g.limits, l*(l+1)*b.Mu*b.Mu/2*(1-8*unit))
	}
	return g, nil
}

// Admits reports whether a user with these counts may contribute to one more mechanism in the
// bucket. It has no visible side effects. It returns a *units.RangeError if the counts do not match
// the table or the bucket does not exist, and false if the count is full.
func (g *Gate) Admits(counts Counts, bucket int) (bool, error) {
	if err := cmp.Or(
		units.Require(len(counts) == len(g.trial), "buckets", float64(len(counts)), "as many as the table has"),
		units.Require(bucket >= 0 && bucket < len(counts), "bucket", float64(bucket),
			fmt.Sprintf("between 0 and %d", len(counts)-1)),
	); err != nil {
		return false, err
	}
	copy(g.trial, counts)
	if g.trial.Add(bucket) != nil || !g.bounded(g.trial) {
		return false, nil
	}
	if g.squareSum(g.trial) <= g.budget.Mu*g.budget.Mu*(1-8*unit) {
		return true, nil
	}
	if g.curve.Set(g.trial) != nil {
		return false, nil
	}
	return g.curve.CoveredBy(g.budget.Mu, g.budget.Slack)
}

// squareSum returns Σ σ̃^-2, rounded up: +Inf if a pair is not Gaussian.
func (g *Gate) squareSum(counts Counts) float64 {
	sum := 0.0
	for i, n := range counts {
		if n > 0 {
			sum += float64(n) * g.table.squares[i]
		}
	}
	return sum * (1 + float64(len(counts)+8)*2*unit)
}

// bounded reports whether (b) and (c) hold. It raises each sum over the buckets by more than the
// rounding error.
func (g *Gate) bounded(counts Counts) bool {
	interval := g.table.options.Interval
	roundings := float64(len(counts)+8) * 2 * unit
	for _, spectra := range g.table.spectra {
		infinity := 0.0
		for i, n := range counts {
			infinity += float64(n) * spectra[i].infinity
		}
		if infinity*(1+roundings) > g.budget.Slack {
			return false
		}
		for j, limit := range g.limits {
			sum, size := 0.0, 0.0
			for i, n := range counts {
				if n == 0 {
					continue
				}
				shift := lambdas[j] * float64(spectra[i].shift) * interval
				sum += float64(n) * (spectra[i].moments[j] + shift)
				size += float64(n) * (math.Abs(spectra[i].moments[j]) + math.Abs(shift))
			}
			if !(sum+size*roundings <= limit) {
				return false
			}
		}
		if g.table.symmetric {
			break
		}
	}
	return true
}

// Budget returns the gate's budget.
func (g *Gate) Budget() Budget { return g.budget }

// Orders returns the Rényi orders at which the sum of the divergences may not exceed α·B²/2.
func (g *Gate) Orders() []float64 { return append([]float64(nil), g.orders...) }

// EpsilonAt returns the ε promised at δ under adaptive choice, rounded up. The error is a
// *units.RangeError unless slack < δ < 1.
func (g *Gate) EpsilonAt(delta float64) (float64, error) {
	if !(delta > g.budget.Slack && delta < 1) {
		return math.Inf(1), &units.RangeError{Parameter: "delta", Value: delta, Range: "above the slack and below 1"}
	}
	curve, err := conversion.GDPToRDP(loss.GDP{Mu: g.budget.Mu}, g.orders)
	if err != nil {
		return math.Inf(1), err
	}
	return conversion.RDPToEpsilon(curve, math.Nextafter(delta-g.budget.Slack, 0))
}

// DeltaAt returns the δ promised at ε under adaptive choice, rounded up. The error is a
// *units.RangeError unless ε is in the range of conversion.RDPToDelta.
func (g *Gate) DeltaAt(epsilon float64) (float64, error) {
	curve, err := conversion.GDPToRDP(loss.GDP{Mu: g.budget.Mu}, g.orders)
	if err != nil {
		return 1, err
	}
	delta, err := conversion.RDPToDelta(curve, epsilon)
	if err != nil {
		return 1, err
	}
	return min(1, math.Nextafter(delta+g.budget.Slack, 1)), nil
}
