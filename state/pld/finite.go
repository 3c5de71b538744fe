package pld

import (
	"cmp"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// MaxPureEpsilon bounds the ε of RandomizedResponse and Approx.
const MaxPureEpsilon = 1024

// Approx is the pair that dominates every (ε, δ)-differentially private mechanism:
// the loss is unbounded with probability δ, else ±ε as in randomised response
// (Kairouz, Oh and Viswanath, 2015, Section 3; Murtagh and Vadhan, 2016).
type Approx loss.Approx

// Validate returns a *units.RangeError that names epsilon (0 to MaxPureEpsilon) or
// delta (0 up to 1) where it is out of its range.
func (a Approx) Validate() error {
	if err := loss.Approx(a).Validate(); err != nil {
		return err
	}
	return positive("epsilon", a.Epsilon, 0, MaxPureEpsilon)
}

func (a Approx) symmetric() bool { return true }

func (a Approx) extent(Direction, float64) extent {
	return extent{low: -a.Epsilon, high: a.Epsilon, spread: a.Epsilon}
}

func (a Approx) fill(_ Direction, c *intervals) error {
	c.added = 4
	less := math.Exp(-a.Epsilon)
	rest := (1 - a.Delta) * (1 + elementary) / (1 + less)
	c.infinity += a.Delta
	c.atom(a.Epsilon, rest)
	c.atom(-a.Epsilon, rest*less*(1+elementary))
	return nil
}

// RandomizedResponse is the pair of k-ary randomised response: the true one of k
// values with probability e^ε/(e^ε + k − 1), else any of the others, for an
// individual whose value changes.
type RandomizedResponse struct {
	Epsilon float64 // 0 to MaxPureEpsilon
	Values  int     // k, from 2 to 2^30
}

// Validate returns a *units.RangeError that names epsilon or values where it is out
// of its range.
func (r RandomizedResponse) Validate() error {
	return cmp.Or(
		units.Require(r.Values >= 2 && r.Values <= 1<<30, "values", float64(r.Values), "an integer from 2 to 2^30"),
		positive("epsilon", r.Epsilon, 0, MaxPureEpsilon),
	)
}

func (r RandomizedResponse) symmetric() bool { return true }

func (r RandomizedResponse) extent(Direction, float64) extent {
	return extent{low: -r.Epsilon, high: r.Epsilon, spread: r.Epsilon}
}

func (r RandomizedResponse) fill(_ Direction, c *intervals) error {
	c.added = 6
	less := math.Exp(-r.Epsilon)
	truth := (1 + elementary) / (1 + float64(r.Values-1)*less)
	c.atom(r.Epsilon, truth)
	c.atom(-r.Epsilon, truth*less*(1+elementary))
	c.atom(0, truth*less*float64(r.Values-2)*(1+elementary))
	return nil
}

// Finite is a pair of distributions on finitely many outputs, which may differ in
// both directions. What the first lacks to 1 counts as an unbounded loss, and what
// the second has above 1 is taken off every output of it alike: numbers that are
// rounded give a δ that is no better than the truth. It is not copied and must not be
// changed afterwards.
type Finite struct {
	With    []float64 // probabilities of the outputs with the individual
	Without []float64 // and without, in the same order
}

// Validate returns a *units.RangeError that names with or without where there are
// no outputs, the lengths differ, a probability is not one, or they do not add up
// to 1 within 1e-9.
func (f Finite) Validate() error {
	if err := cmp.Or(
		units.Require(len(f.With) != 0 && len(f.With) <= MaxSize, "with", float64(len(f.With)), "1 to 2^26 probabilities"),
		units.Require(len(f.Without) == len(f.With), "without", float64(len(f.Without)), "as many probabilities as with"),
	); err != nil {
		return err
	}
	if err := distribution("with", f.With); err != nil {
		return err
	}
	return distribution("without", f.Without)
}

func distribution(name string, p []float64) error {
	sum := 0.0
	for _, v := range p {
		if !(v >= 0 && v <= 1) {
			return &units.RangeError{Parameter: name, Value: v, Range: "probabilities between 0 and 1"}
		}
		sum += v
	}
	return units.Require(math.Abs(sum-1) <= 1e-9, name, sum, "probabilities that add up to 1")
}

func (f Finite) symmetric() bool { return false }

func (f Finite) sides(d Direction) (p, q []float64) {
	if d == Add {
		return f.Without, f.With
	}
	return f.With, f.Without
}

// offOne returns what probabilities lack to 1 or have above it, rounded up. Sums of
// float64 numbers from 0 to 1 are exact here.
func offOne(probabilities []float64) (missing, excess float64) {
	const bits = 1074 + 32
	sum := new(big.Float).SetPrec(bits).SetInt64(-1)
	p := new(big.Float).SetPrec(bits)
	for _, v := range probabilities {
		sum.Add(sum, p.SetFloat64(v))
	}
	off, accuracy := sum.Float64()
	switch {
	case off < 0 && accuracy == big.Above, off > 0 && accuracy == big.Below:
		off = math.Nextafter(off, math.Copysign(2, off))
	}
	return max(0, -off), max(0, off)
}

// lossOf returns ln(p/(q/(1 + excess))), rounded up.
func lossOf(p, q, excess float64) float64 {
	over, under := logOf(p), logOf(q)
	return over - under + excess + (math.Abs(over)+math.Abs(under)+1)*0x1p-51
}

// logOf returns ln p for p > 0, also below the normal numbers, where math.Log is wrong
// on amd64 (Go 1.26): −709 for the −744 of the least one.
func logOf(p float64) float64 {
	if p < 0x1p-1022 {
		return math.Log(p*0x1p64) - 64*math.Ln2
	}
	return math.Log(p)
}

func (f Finite) extent(d Direction, _ float64) extent {
	p, q := f.sides(d)
	_, excess := offOne(q)
	e := extent{low: math.Inf(1), high: math.Inf(-1)}
	for i := range p {
		if p[i] > 0 && q[i] > 0 {
			l := lossOf(p[i], q[i], excess)
			e.low, e.high = min(e.low, l), max(e.high, l)
		}
	}
	if e.low > e.high {
		return extent{}
	}
	e.spread = (e.high - e.low) / 2
	return e
}

func (f Finite) fill(d Direction, c *intervals) error {
	p, q := f.sides(d)
	c.added = len(p) + 1
	missing, _ := offOne(p)
	_, excess := offOne(q)
	c.infinity += missing
	for i := range p {
		switch {
		case p[i] == 0:
		case q[i] == 0:
			c.infinity += p[i]
		default:
			c.atom(lossOf(p[i], q[i], excess), p[i])
		}
	}
	return nil
}
