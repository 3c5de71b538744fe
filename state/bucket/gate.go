package bucket

import (
	"cmp"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Budget is the budget of a user. Everything accepted is covered by Mu-GDP up to Slack.
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

// Gate decides which compositions fit into a budget. It is the part of a Filter that all users
// share; the state of a single user is Counts. A Gate is not safe for concurrent use.
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
// The promise requires that every mechanism that uses a user's data passes the gate, and that
// refused mechanisms do not use the user's data.
//
//   - If buckets are chosen adaptively, from all earlier outputs, the complete output is (ε, slack
//   - δ')-DP in both directions for every (ε, δ') that follows from a Rényi divergence of α·B²/2
//     at one of Orders (Lemma C.4): see EpsilonAt and DeltaAt.
//   - If buckets are fixed beforehand, the complete output is (ε, slack + δ_B(ε))-DP for every ε.
//
// Gate does not promise B-GDP. It does not promise the second property under adaptive choice
// either, which is an open problem (Koskela et al., Section 7). Section 5 of that paper derives (c)
// at all orders from (a) without slack, by Blackwell's theorem, and the promise from (c), by
// Feldman and Zrnic's filter. With rounded numbers, (a) cannot hold without slack (and with
// subsampling it would gain nothing: see SmallestMu), and (a) with slack does not imply (c). Hence
// (c) is checked separately, at the orders from which promises with a δ above slack follow.
//
// Proof of the first property. By Blackwell's theorem (Appendix C.6), each output is a function of
// a draw from the pair of its bucket. Let P' be the distribution of the run, restricted to the
// paths without an infinite loss. By (b), all other paths have probability ≤ slack, so H(P‖Q) ≤
// slack + H(P'‖Q). By (c), the process of Feldman and Zrnic, Theorem 3.1, for the finite parts,
// which are measures with total mass ≤ 1, is a supermartingale: E_Q (dP'/dQ)^α ≤ e^((α−1)·α·B²/2).
// Lemma C.4 bounds [1 − e^(ε−x)]₊ by e^((α−1)(x−ε)) at every loss x. It also holds under P'.
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
// bucket. It returns false if the count is at its maximum, and a *units.RangeError if the counts do
// not match the table or the bucket does not exist.
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

// squareSum returns Σ σ̃^-2, rounded up, or +Inf if a pair is not Gaussian.
func (g *Gate) squareSum(counts Counts) float64 {
	sum := 0.0
	for i, n := range counts {
		if n > 0 {
			sum += float64(n) * g.table.squares[i]
		}
	}
	return sum * (1 + float64(len(counts)+8)*2*unit)
}

// bounded reports whether conditions (b) and (c) hold. It increases each sum over the buckets by
// more than the rounding error.
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

// Orders returns the Rényi orders α at which the sum of the divergences must not exceed α·B²/2.
func (g *Gate) Orders() []float64 { return append([]float64(nil), g.orders...) }

// EpsilonAt returns the ε that is promised for δ under adaptive choice, rounded up. The error is a
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

// DeltaAt returns the δ that is promised for ε under adaptive choice, rounded up. The error is a
// *units.RangeError unless conversion.RDPToDelta accepts ε.
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
