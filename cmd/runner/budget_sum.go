package main

import (
	"math"
	"math/big"
)

// total is a sum of float64 numbers and products, rounded up to a float64's 53
// bits after every step; what fits is exact. The zero value is 0.
type total struct{ sum big.Float }

func directed(mode big.RoundingMode) *big.Float {
	return new(big.Float).SetPrec(53).SetMode(mode)
}

// add adds count·value; value is at least 0 and may be +Inf, count at least 1.
func (t *total) add(value float64, count int) {
	product := directed(big.ToPositiveInf).Mul(new(big.Float).SetFloat64(value), new(big.Float).SetInt64(int64(count)))
	t.sum.Set(directed(big.ToPositiveInf).Add(&t.sum, product))
}

// value is the sum as a float64: one above the greatest is +Inf.
func (t *total) value() float64 { return roundUp(&t.sum) }

func roundUp(x *big.Float) float64 {
	v, rounded := x.Float64()
	if rounded == big.Below {
		v = math.Nextafter(v, math.Inf(1))
	}
	return v
}

// square is v², rounded up.
func square(v float64) float64 {
	x := new(big.Float).SetFloat64(v)
	return roundUp(directed(big.ToPositiveInf).Mul(x, x))
}

// root is √v, rounded up; v is at least 0.
func root(v float64) float64 {
	r := math.Sqrt(v)
	if x := new(big.Float).SetFloat64(r); new(big.Float).SetPrec(106).Mul(x, x).Cmp(new(big.Float).SetFloat64(v)) < 0 {
		r = math.Nextafter(r, math.Inf(1))
	}
	return r
}

// over is a/b for positive numbers, rounded in the given direction.
func over(a, b float64, mode big.RoundingMode) float64 {
	q := directed(mode).Quo(new(big.Float).SetFloat64(a), new(big.Float).SetFloat64(b))
	v, rounded := q.Float64()
	switch {
	case mode == big.ToPositiveInf && rounded == big.Below:
		return math.Nextafter(v, math.Inf(1))
	case mode == big.ToNegativeInf && rounded == big.Above:
		return math.Nextafter(v, 0)
	}
	return v
}
