package compose

import (
	"errors"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/state/pld"
)

// minGridDelta is the smallest δ for which the grid of the default options resolves the tail. Below
// it, other accountants may be tighter.
const minGridDelta = 1e-14

// byPLD convolves privacy loss distributions (Zhu, Dong and Wang, 2022, Theorem 10).
func byPLD(list []Mechanism, q Question) (float64, error) {
	if slices.ContainsFunc(list, func(m Mechanism) bool { return m.concentrated > 0 }) {
		return 0, notApplicable("no dominating pair is known for zcdp")
	}
	o := pld.Options{}
	if !q.forDelta {
		o.MinDelta, o.Delta = min(0.1, max(q.delta*1e-6, 1e-280)), q.delta
	}
	result, err := convolve(list, q, o)
	if q.forDelta && err == nil && result < minGridDelta {
		o.MinDelta = 1e-120
		if finer, err := convolve(list, q, o); err == nil {
			result = min(result, finer)
		}
	}
	var floor *pld.FloorError
	if errors.As(err, &floor) || err == nil && math.IsInf(result, 1) {
		return 0, notApplicable("the probability of an unbounded loss is above delta, or too close to it")
	}
	var size *pld.SizeError
	if errors.As(err, &size) {
		return 0, notApplicable("the losses spread too widely for any grid")
	}
	return result, err
}

func convolve(list []Mechanism, q Question, o pld.Options) (float64, error) {
	var parts []*pld.Distribution
	for _, m := range list {
		single, err := pld.New(m.pair, o)
		if err != nil {
			return 0, err
		}
		all, err := single.Power(m.count)
		if err != nil {
			return 0, err
		}
		parts = append(parts, all)
	}
	all, err := parts[0].Compose(parts[1:]...)
	if err != nil {
		return 0, err
	}
	if q.forDelta {
		return all.DeltaAt(q.epsilon)
	}
	return all.EpsilonAt(q.delta)
}
