package pld

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
)

// merged returns the factors, in which all Gaussians with an automatic interval are merged into
// one. The composition of Gaussians with σ_i is the Gaussian with σ = 1/√(Σ 1/σ_i²) (Dong, Roth and
// Su, 2022, Corollary 3.3), rounded down. This is exact, so the bound is no looser, and saves a
// grid and a transform for each Gaussian. merged also computes the masses of Gaussian factors,
// which New leaves empty.
func merged(factors []factor, o Options) ([]factor, error) {
	var others []factor
	squares, count, all := 0.0, 0, Gaussian{}
	for _, f := range factors {
		g, ok := f.gaussian()
		if !ok {
			others = append(others, f)
			continue
		}
		mu := rounding.QuotientUp(1, g.Sigma)
		squares = rounding.SumUp(squares, rounding.ProductUp(rounding.ProductUp(mu, mu), float64(f.count)))
		count, all = count+f.count, g
	}
	if count == 0 {
		return factors, nil
	}
	if count > 1 {
		all.Sigma = rounding.QuotientDown(1, rounding.RootUp(squares))
	}
	if all.Validate() == nil {
		f, err := all.factor(o)
		if err == nil {
			return append(others, f), nil
		}
	}
	// The merged Gaussian exceeds the limits of a pair or of a grid: do not merge.
	out := make([]factor, 0, len(factors))
	for _, f := range factors {
		if f.mass == nil {
			m, err := f.source.measure(f.interval)
			if err != nil {
				return nil, err
			}
			f.measure = m
		}
		out = append(out, f)
	}
	return out, nil
}

func (f factor) gaussian() (Gaussian, bool) {
	if f.source == nil {
		return Gaussian{}, false
	}
	g, ok := f.source.pair.(Gaussian)
	return g, ok
}

// factor returns the pair, discretised with its default interval.
func (g Gaussian) factor(o Options) (factor, error) {
	tail := max(o.MinDelta*tailShare, math.SmallestNonzeroFloat64)
	from := &source{pair: g, direction: Remove, tail: tail, limit: o.MaxPoints}
	m, err := from.measure(o.intervalFor(g.extent(Remove, tail)))
	return factor{measure: m, count: 1}, err
}
