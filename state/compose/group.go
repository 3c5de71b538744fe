package compose

import (
	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

// MaxGroup is the maximum number of individuals in a group.
const MaxGroup = conversion.MaxGroup

// ForGroup returns the mechanism as it affects any k individuals together, 1 to MaxGroup. A
// mechanism that adds noise to a value has k times the sensitivity, which is exact. The exponential
// mechanism has k times the swing. An (ε, δ)-DP mechanism is converted by
// conversion.ApproxForGroup, and a ρ-zCDP mechanism by conversion.ZCDPForGroup. Randomized response
// counts as an (ε, δ)-DP mechanism of which k inputs change.
//
// The error is a *NotApplicableError if the mechanism uses a sample: the sample may include any
// part of the group, and no pair is known for that case. It is a *units.RangeError if k times the
// sensitivity, or the (ε, δ) of the group, is out of range.
func (m Mechanism) ForGroup(k int) (Mechanism, error) {
	if err := integer("group", k, 1, MaxGroup); err != nil {
		return Mechanism{}, err
	}
	if m.sample() != "" && k > 1 {
		return Mechanism{}, notApplicable("no cost of %s on %s is known for a group: omit sampling or the group",
			m.name, m.sample())
	}
	count, size := m.count, float64(k)
	if k == 1 || count == 0 {
		return m, nil
	}
	switch p := m.pair.(type) {
	case nil:
		group, err := conversion.ZCDPForGroup(loss.ZCDP{Rho: m.concentrated}, k)
		m.concentrated = group.Rho
		return m, err
	case pld.Gaussian:
		m.pair = pld.Gaussian{Sigma: rounding.QuotientDown(p.Sigma, size)}
		m.mu = rounding.ProductUp(m.mu, size)
	case pld.Laplace:
		m.pair = pld.Laplace{Scale: rounding.QuotientDown(p.Scale, size)}
	case pld.BoundedRange:
		m.bounded = rounding.ProductUp(m.bounded, size)
		m.pair = pld.BoundedRange{Epsilon: m.bounded}
	case pld.DiscreteGaussian:
		if p.Sensitivity > MaxSensitivity/k {
			return Mechanism{}, &units.RangeError{Parameter: "group", Value: size,
				Range: "such that group·sensitivity is at most 2^20"}
		}
		m.pair = pld.DiscreteGaussian{Sigma: p.Sigma, Sensitivity: p.Sensitivity * k}
	}
	if m.fixed != nil {
		group, err := conversion.ApproxForGroup(*m.fixed, k)
		if err != nil {
			return Mechanism{}, err
		}
		m.fixed = &group
		switch m.pair.(type) {
		case pld.Laplace, pld.BoundedRange:
		default:
			m.pair = pld.Approx(group)
		}
	}
	m, err := m.checked()
	if err != nil {
		return Mechanism{}, err
	}
	m.count = count
	return m, nil
}
