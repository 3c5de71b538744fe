package bucket

import (
	"math"
	"sort"

	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// MinMu and MaxMu are the limits of the μ of a cover.
	MinMu = 0x1p-20
	MaxMu = 0x1p7

	// MinSlack is the minimum slack of a cover. Below it, the curve's rounding errors would decide.
	MinSlack = 1e-15

	// muBits is the number of bits after the first in a μ on the grid. Steps are a relative 2^-13
	// to 2^-12.
	muBits = 12
)

// muAt returns element i of the grid of μ, which contains every float64 from MinMu upward with
// muBits + 1 significant bits.
func muAt(i int) float64 {
	return math.Float64frombits(math.Float64bits(MinMu) + uint64(i)<<(52-muBits))
}

// muSteps is the number of steps of the grid between MinMu and MaxMu.
const muSteps = 27 << muBits

// sample is an upper bound on a curve at one ε. The curve is convex in e^ε, so between two samples
// it is below their chord.
type sample struct{ epsilon, delta float64 }

// Parameters of the sampling of curves. The first step in ε is μ/fineness, and growth is the ratio
// of each step to the one before. An interval is halved up to refinements times if only the gap
// between chord and tangents prevents a proof.
const (
	fineness    = 4
	growth      = 1.01
	refinements = 7
)

// walk calls visit with samples that cover [0, ∞). They go from ε = 0, in growing steps, to the
// first ε at which δ is at most slack: slack alone covers every larger ε. walk stops if visit
// returns false. The error is a *pld.FloorError if δ never falls to slack.
func (c *Curve) walk(step, slack float64, visit func(sample) bool) error {
	high := c.highest()
	for epsilon := 0.0; ; epsilon += step {
		last := epsilon >= high
		if last {
			epsilon = high
		}
		delta, _ := c.bounds(epsilon)
		if !visit(sample{epsilon, delta}) || delta <= slack {
			return nil
		}
		if last {
			return &pld.FloorError{Delta: slack, Floor: delta}
		}
		step *= growth
	}
}

// cover is the claim that δ_μ + slack is above the curve.
type cover struct {
	*Curve
	mu, slack float64
}

// above reports whether δ_μ + slack is above all chords between samples.
func (c cover) above(s []sample) bool {
	line := tangentAt(c.mu, s[0].epsilon)
	for i := 1; i < len(s); i++ {
		next := tangentAt(c.mu, s[i].epsilon)
		if !c.between(s[i-1], s[i], line, next, refinements) {
			return false
		}
		line = next
	}
	return true
}

// between reports whether δ_μ + slack is above the curve from one sample to another.
func (c cover) between(from, to sample, a, b tangent, refine int) bool {
	if from.delta > a.delta+c.slack || to.delta > b.delta+c.slack {
		return false
	}
	if staysAbove(a, b, to.epsilon-from.epsilon, from.delta, to.delta, c.slack) {
		return true
	}
	if refine == 0 {
		return false
	}
	mid := sample{epsilon: from.epsilon + (to.epsilon-from.epsilon)/2}
	mid.delta, _ = c.bounds(mid.epsilon)
	m := tangentAt(c.mu, mid.epsilon)
	return c.between(from, mid, a, m, refine-1) && c.between(mid, to, m, b, refine-1)
}

// SmallestMu returns the smallest μ on a grid (with relative steps of at most 2^-12) for which
//
//	δ(ε) ≤ δ_μ(ε) + slack for every real ε, in both directions,
//
// where δ(ε) is the curve of the counts and δ_μ the curve of μ-GDP (Corollary C.2). This is
// condition (5.1) of Koskela, Tobaben and Honkela up to slack. If mechanisms are fixed beforehand,
// it means (ε, δ_μ(ε) + slack)-DP for every ε. For adaptively chosen mechanisms, see Gate.
//
// Without slack, there is no such μ below √Σ σ̃^-2, however small the sampling probability is. In
// the far tail, a subsampled Gaussian mechanism is as bad as one without sampling: its Rényi
// divergence of order α is at least α/(2σ̃²) + α/(α−1)·ln q. But slack covers its tiny probability.
//
// Between samples, the curve is bounded by chords and δ_μ by tangents. A μ that covers the curve
// with a margin below about 1e-5 of δ may therefore be skipped in favour of the next μ.
//
// The error is a *units.RangeError unless MinSlack ≤ slack < 1, or if μ would exceed MaxMu. It is a
// *pld.FloorError if the error bounds exceed slack at every ε. If there is an error, μ is +Inf.
func (c *Curve) SmallestMu(slack float64) (float64, error) {
	if err := checkSlack(slack); err != nil {
		return math.Inf(1), err
	}
	top, _ := c.bounds(0)
	if top <= slack {
		return 0, nil
	}
	// δ_μ(0) = 2Φ(μ/2) − 1 = erf(μ/√8): no μ below this covers ε = 0.
	least := min(MaxMu, max(MinMu, math.Sqrt(8)*math.Erfinv(min(top-slack, 1-0x1p-52))))
	var s []sample
	if err := c.walk(least/fineness, slack, func(next sample) bool { s = append(s, next); return true }); err != nil {
		return math.Inf(1), err
	}
	i := sort.Search(muSteps+1, func(i int) bool { return cover{c, muAt(i), slack}.above(s) })
	if i > muSteps {
		return math.Inf(1), &units.RangeError{Parameter: "mu", Value: math.Inf(1),
			Range: "at most 128, but no mu up to 128 covers the curve"}
	}
	return muAt(i), nil
}

// CoveredBy reports whether δ(ε) ≤ δ_μ(ε) + slack for every real ε, in both directions: see
// SmallestMu. The error is a *units.RangeError unless MinMu ≤ μ ≤ MaxMu and MinSlack ≤ slack < 1.
func (c *Curve) CoveredBy(mu, slack float64) (bool, error) {
	if !(mu >= MinMu && mu <= MaxMu) {
		return false, &units.RangeError{Parameter: "mu", Value: mu, Range: "between 2^-20 and 128"}
	}
	if err := checkSlack(slack); err != nil {
		return false, err
	}
	above, last := true, []sample(nil)
	err := c.walk(mu/fineness, slack, func(next sample) bool {
		if last = append(last, next); len(last) == 2 {
			above = cover{c, mu, slack}.above(last)
			last = append(last[:0], next)
		}
		return above
	})
	return err == nil && above, nil
}

func checkSlack(slack float64) error {
	return units.Require(slack >= MinSlack && slack < 1, "slack", slack, "at least 1e-15 and below 1")
}
