package odometers

import (
	"context"
	"math"
)

// walk is the realised loss of randomised response, in multiples of epsilon. Each step goes up by
// one with probability e^ε/(1 + e^ε), and otherwise down by one.
type walk struct {
	epsilon float64
	steps   int
}

func (w walk) up() float64 { return 1 / (1 + math.Exp(-w.epsilon)) }

// mean returns the expected loss after k steps.
func (w walk) mean(k int) float64 { return float64(k) * w.epsilon * math.Tanh(w.epsilon/2) }

// composed returns the bound of advanced composition for a fixed number k of steps. With
// probability at most delta, a walk of k independent steps of ±ε exceeds its mean by more than
// ε·√(2k·ln 1/δ) (Hoeffding).
func (w walk) composed(k int, delta float64) float64 {
	return w.mean(k) + w.epsilon*math.Sqrt(2*float64(k)*math.Log(1/delta))
}

// exceeds returns, for each k in horizons, the probability that the absolute loss exceeds the claim
// at one of the first k steps. horizons must be ascending.
func (w walk) exceeds(ctx context.Context, horizons []int, claim func(k int) float64) ([]float64, error) {
	up := w.up()
	down := 1 - up
	last := horizons[len(horizons)-1]
	// mass[i] is the probability that the loss is (2i − k)·ε and has never exceeded a claim.
	mass := make([]float64, last+2)
	mass[0] = 1
	low, high := 0, 0 // mass is 0 outside [low, high]
	out := make([]float64, 0, len(horizons))
	exceeded := 0.0
	for k := 1; k <= last; k++ {
		if k%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		high++
		mass[high] = 0
		for i := high; i > low; i-- {
			mass[i] = mass[i]*down + mass[i-1]*up
		}
		mass[low] *= down
		most := claim(k) / w.epsilon * (1 + 1e-12)
		for ; low <= high && float64(2*low-k) < -most; low++ {
			exceeded += mass[low]
		}
		for ; high >= low && float64(2*high-k) > most; high-- {
			exceeded += mass[high]
		}
		for ; low < high && mass[low] < 1e-18; low++ {
			mass[low+1] += mass[low] // keeps the sum and moves less than 1e-18 per step
		}
		for ; low < high && mass[high] < 1e-18; high-- {
			mass[high-1] += mass[high]
		}
		for len(out) < len(horizons) && horizons[len(out)] == k {
			out = append(out, exceeded)
		}
		if high < low {
			break
		}
	}
	for len(out) < len(horizons) {
		out = append(out, exceeded)
	}
	return out, nil
}

// factor returns the smallest factor by which the deviation in composed can be multiplied so that
// the loss exceeds the claim at one of the first k steps with probability at most delta.
func (w walk) factor(ctx context.Context, k int, delta float64) (float64, error) {
	low, high := 0.5, 4.0
	for range 14 {
		c := (low + high) / 2
		p, err := w.exceeds(ctx, []int{k}, func(k int) float64 {
			return w.mean(k) + c*(w.composed(k, delta)-w.mean(k))
		})
		if err != nil {
			return 0, err
		}
		if p[0] <= delta {
			high = c
		} else {
			low = c
		}
	}
	return high, nil
}
