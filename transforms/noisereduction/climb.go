package noisereduction

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"sort"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrPrecision is returned if a release would exceed the top of its ladder, which is as much as
// users have reserved. It indicates a bug in this package.
var ErrPrecision = errors.New("precision beyond the top of the ladder")

// Result is one release. It is public, but a private key that has not Passed must not be revealed.
type Result struct {
	// Passed is false for a private key below the threshold, and always true for public keys. If it
	// is false, only Rungs and Precision, the precision of the first rung, are set.
	Passed bool
	// Value is the exact precision-weighted mean of the rungs in units of 2^-10, rounded half to
	// even.
	Value int64
	// StdDev is the standard deviation of the noise in Value, 1/√Precision.
	StdDev float64
	// Low and High, multiples of 2^-10, enclose the count with the target's confidence over all
	// outcomes.
	Low, High float64
	// Precision is the precision of the last rung, for which users pay.
	Precision units.Precision
	// Rungs is the number of draws, at least 1.
	Rungs int
	// Met reports whether the ladder stopped because it reached the target.
	Met bool
}

// refinement is reusable memory for one release.
type refinement struct {
	sampler   Sampler
	sum       big.Int // Σ (u_k − u_{k−1})·y_k in units of 2^-(80+finest)
	y         big.Int
	weight    big.Int
	score     big.Int
	remainder big.Int
}

// Release releases one count along the ladder, and returns the result to publish. The result
// depends only on the arguments and the Plan. Release fails if |count| > MaxCount. It is safe for
// concurrent use.
func (p *Plan) Release(k NoiseKey, id Identity, count int64) (Result, error) {
	c := p.scratch.Get().(*refinement)
	defer p.scratch.Put(c)
	c.sampler.begin(id)
	c.sum.SetUint64(0)
	var previous units.Precision
	index := 0
	for rung := 1; ; rung++ {
		r := &p.rungs[index]
		if r.precision.Cmp(p.spec.Top) > 0 {
			return Result{}, fmt.Errorf("releasing rung %d: %w", rung, ErrPrecision)
		}
		noise, exponent, err := c.sampler.noise(&k, rung, previous, r.precision, count)
		if err != nil {
			return Result{}, err
		}
		c.y.Lsh(c.y.SetInt64(count), exponent)
		c.y.Add(&c.y, c.remainder.SetInt64(noise))
		if rung == 1 && p.threshold != nil && c.y.Cmp(p.threshold.limit) <= 0 {
			return Result{Precision: r.precision, Rungs: 1}, nil
		}
		c.add(previous, r.precision, p.finest-exponent)
		previous = r.precision
		score := c.scoreOf(r)
		last := index == len(p.rungs)-1
		if met := score >= p.barrier || last && p.floorMet; met || last {
			return p.result(c, r, rung, met), nil
		}
		index = min(index+p.jump(score), len(p.rungs)-1)
	}
}

// add adds (u − previous)·y to the weighted sum. y is in units of a lattice that is 2^shift times
// coarser than the finest lattice.
func (c *refinement) add(previous, u units.Precision, shift uint) {
	increment, _ := u.Sub(previous)
	int128.Uint(increment).SetBig(&c.weight, &c.remainder)
	c.y.Lsh(&c.y, shift)
	c.weight.Mul(&c.weight, &c.y)
	c.sum.Add(&c.sum, &c.weight)
}

// scoreOf returns est·√u in units of 2^-24, rounded toward zero. It saturates below MaxInt64, which
// is the barrier of a ladder without a relative target.
func (c *refinement) scoreOf(r *rung) int64 {
	c.score.QuoRem(&c.sum, r.root, &c.remainder)
	if !c.score.IsInt64() {
		return int64(c.score.Sign()) * (math.MaxInt64 - 1)
	}
	return min(c.score.Int64(), math.MaxInt64-1)
}

// jump returns the number of ladder points from a rung to the next rung.
func (p *Plan) jump(score int64) int {
	if p.spec.Kind != Adaptive {
		return 1
	}
	if score <= 0 {
		return maxJump
	}
	// reach is decreasing. Each entry that is at least the score adds one point.
	return 1 + sort.Search(len(p.reach), func(i int) bool { return p.reach[i] < score })
}

func (p *Plan) result(c *refinement, r *rung, rungs int, met bool) Result {
	// value·2^-10 = sum·2^-(80+finest)/(units·2^-80).
	c.weight.Lsh(r.units, p.finest-valueBits)
	value := roundQuotient(&c.sum, &c.weight)
	return Result{
		Passed:    true,
		Value:     value,
		StdDev:    r.deviation,
		Low:       float64(value-r.half) / (1 << valueBits),
		High:      float64(value+r.half) / (1 << valueBits),
		Precision: r.precision,
		Rungs:     rungs,
		Met:       met,
	}
}

// roundQuotient returns a/b rounded half to even, b > 0.
func roundQuotient(a, b *big.Int) int64 {
	quotient, remainder := new(big.Int).DivMod(a, b, new(big.Int)) // 0 ≤ rest < b
	value := quotient.Int64()
	switch remainder.Lsh(remainder, 1).Cmp(b) {
	case 1:
		value++
	case 0:
		value += value & 1
	}
	return value
}
