package deployment

import (
	"math"
	"math/big"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state"
)

// allotment is the part of the budget that a metric gets.
type allotment struct {
	first, top state.Precision
	deltaKey   state.Delta
	// of the metric's coverage; zero without one
	coverageFirst, coverageTop state.Precision
}

// split divides B² and δ_keys over the metrics: what explicit caps take for their own
// last_at_least windows comes off first, the rest goes by share.
func split(metrics []Metric, b state.Budget) ([]allotment, error) {
	rest := new(big.Rat).SetInt(accountUnits(b.Mu2))
	byShare, private := 0, 0
	for i := range metrics {
		m := &metrics[i]
		if m.Keys.Mode == KeysPrivate {
			private++
		}
		if m.Ladder.Sigma == 0 {
			byShare++
		}
	}
	for i := range metrics {
		m := &metrics[i]
		if m.Ladder.Sigma == 0 {
			continue
		}
		if byShare > 0 && m.LastAtLeast == 0 {
			return nil, Invalid("metrics."+m.Name+".last_at_least", "an explicit ladder.sigma beside metrics that share the rest of the budget needs it, to know how much is left")
		}
		top, err := state.PrecisionFromSigma(m.Ladder.Sigma)
		if err != nil {
			return nil, Invalid("metrics."+m.Name+".ladder.sigma", "%v", err)
		}
		taken := m.worst(top, besideCap(m, top))
		rest.Sub(rest, new(big.Rat).SetInt(taken.Mul(taken, big.NewInt(int64(m.LastAtLeast)))))
	}
	if byShare > 0 && rest.Sign() <= 0 {
		return nil, Invalid("metrics", "explicit ladder.sigma caps take the whole budget; nothing is left to share")
	}
	shares, err := shares(metrics, byShare, private)
	if err != nil {
		return nil, err
	}
	out := make([]allotment, len(metrics))
	for i := range metrics {
		if out[i], err = allot(&metrics[i], rest, shares[i], b); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var twoTo40 = new(big.Int).Lsh(big.NewInt(1), 40)

// worst returns what one window costs a user at most, in account units: K counts at
// the top, each charged in whole units, and what coverage takes beside them.
func (m *Metric) worst(top state.Precision, coverage *big.Int) *big.Int {
	w := charge(m.square(), top)
	return w.Mul(w, big.NewInt(int64(m.MaxKeysPerUser))).Add(w, coverage)
}

// charge is state.Charge of a squared contribution, where it need not fit an
// account: ⌈c²·u·2^-40⌉.
func charge(square *big.Int, u state.Precision) *big.Int {
	w := new(big.Int).Mul(u.Big(), square)
	return w.Add(w, new(big.Int).Sub(twoTo40, big.NewInt(1))).Rsh(w, 40)
}

// contribution returns c_max: by how much one user moves one key's count at most.
func (m *Metric) contribution() int64 {
	return metrickind.Of(m.Kind).Sensitivity(m.bounds())
}

func (m *Metric) bounds() metrickind.Bounds {
	return metrickind.Bounds{Events: int64(m.MaxEventsPerKey), Min: m.Min, Max: m.Max}
}

func (m *Metric) square() *big.Int {
	c := big.NewInt(m.contribution())
	return c.Mul(c, c)
}

// besideCap is what coverage costs in one window beside an explicit cap, in
// account units: the coverage's share of both.
func besideCap(m *Metric, top state.Precision) *big.Int {
	if m.Coverage == nil {
		return new(big.Int)
	}
	worst := new(big.Rat).SetInt(m.worst(top, new(big.Int)))
	share := new(big.Rat).SetFloat64(m.Coverage.Share)
	worst.Mul(worst, share)
	return floorDiv(worst.Quo(worst, share.Sub(big.NewRat(1, 1), share)), big.NewInt(1))
}

// share is a metric's part of B² and of δ_keys.
type share struct{ budget, keys *big.Rat }

func shares(metrics []Metric, byShare, private int) ([]share, error) {
	out := make([]share, len(metrics))
	sum, sumKeys := new(big.Rat), new(big.Rat)
	for i := range metrics {
		m := &metrics[i]
		s := share{new(big.Rat), new(big.Rat)}
		if m.Share > 0 {
			s.budget.SetFloat64(m.Share)
			s.keys.Set(s.budget)
		} else {
			if byShare > 0 {
				s.budget.SetFrac64(1, int64(byShare))
			}
			if private > 0 {
				s.keys.SetFrac64(1, int64(private))
			}
		}
		if m.Ladder.Sigma == 0 {
			sum.Add(sum, s.budget)
		}
		if m.Keys.Mode == KeysPrivate {
			sumKeys.Add(sumKeys, s.keys)
		}
		out[i] = s
	}
	one := big.NewRat(1, 1)
	if sum.Cmp(one) > 0 || sumKeys.Cmp(one) > 0 {
		return nil, Invalid("metrics.share", "the shares add up to more than 1 (a metric without a share takes an equal part: give all of them one)")
	}
	return out, nil
}

func allot(m *Metric, rest *big.Rat, s share, b state.Budget) (allotment, error) {
	var a allotment
	var err error
	var coverage *big.Int // account units
	if m.Ladder.Sigma > 0 {
		if a.top, err = state.PrecisionFromSigma(m.Ladder.Sigma); err == nil {
			coverage = besideCap(m, a.top)
		}
	} else {
		var top *big.Int
		top, coverage = sharedTop(m, new(big.Rat).Mul(rest, s.budget))
		a.top, err = state.PrecisionFromBig(top)
	}
	if err != nil || a.top.IsZero() {
		return a, Invalid("metrics."+m.Name+".last_at_least", "so many windows leave no precision for any of them; ask for fewer, or raise epsilon")
	}
	if err := payable(m, a.top, b); err != nil {
		return a, err
	}
	if a.first, err = firstRung(m, a.top); err != nil {
		return a, err
	}
	if m.Coverage != nil {
		if err := a.cover(m, coverage, b); err != nil {
			return a, err
		}
	}
	if m.Keys.Mode == KeysPrivate {
		units := new(big.Rat).Mul(new(big.Rat).SetInt(b.Keys.Big()), s.keys)
		over := new(big.Int).Mul(big.NewInt(int64(m.LastAtLeast)), big.NewInt(int64(m.MaxKeysPerUser)))
		a.deltaKey, err = state.DeltaFromBig(floorDiv(units, over))
		if err != nil || a.deltaKey.IsZero() {
			return a, Invalid("metrics."+m.Name+".keys", "δ is too small to divide over so many windows and keys; raise privacy.delta or delta_keys")
		}
	}
	return a, nil
}

// sharedTop returns u_top from a metric's part of B², with the account units of its
// coverage in one window. Each of the K charges of a window is rounded up on its
// own, so the part is divided into whole account units first:
// ⌈C²·u_top·2^-40⌉ ≤ ⌊rest/K⌋. Dividing once by N·K·C² would leave the last
// window short of some units.
func sharedTop(m *Metric, part *big.Rat) (top, coverage *big.Int) {
	units := floorDiv(part, big.NewInt(int64(m.LastAtLeast)))
	coverage = new(big.Int)
	if m.Coverage != nil {
		share := new(big.Rat).SetFloat64(m.Coverage.Share)
		coverage = floorDiv(share.Mul(share, new(big.Rat).SetInt(units)), big.NewInt(1))
	}
	units.Sub(units, coverage)
	units.Div(units, big.NewInt(int64(m.MaxKeysPerUser)))
	units.Mul(units, twoTo40)
	return units.Div(units, m.square()), coverage
}

// cover sets the ladder of a metric's coverage, to which a user contributes 1.
func (a *allotment) cover(m *Metric, units *big.Int, b state.Budget) error {
	var err error
	a.coverageTop, err = state.PrecisionFromBig(new(big.Int).Mul(units, twoTo40))
	field := "metrics." + m.Name + ".coverage"
	if err != nil || a.coverageTop.IsZero() {
		return Invalid(field, "its share leaves no precision; raise coverage.share, lower last_at_least, or raise epsilon")
	}
	if charge, ok := state.Charge(1, a.coverageTop); !ok || charge > b.Mu2 {
		return Invalid(field, "no user can pay for it; lower coverage.share")
	}
	a.coverageFirst, err = state.PrecisionFromBig(new(big.Int).Rsh(a.coverageTop.Big(), 24))
	if err != nil || a.coverageFirst.IsZero() {
		return Invalid(field, "its first rung has no precision left at all; raise coverage.share or lower last_at_least")
	}
	return nil
}

func floorDiv(r *big.Rat, by *big.Int) *big.Int {
	return new(big.Int).Div(r.Num(), new(big.Int).Mul(r.Denom(), by))
}

// firstRung returns u_1, the precision of the first rung.
func firstRung(m *Metric, top state.Precision) (state.Precision, error) {
	field := "metrics." + m.Name + ".ladder"
	var first state.Precision
	var err error
	switch {
	case m.Ladder.FirstSigma > 0:
		first, err = state.PrecisionFromSigma(m.Ladder.FirstSigma)
	case m.Keys.Mode == KeysPrivate:
		first, err = state.PrecisionFromBig(new(big.Int).Rsh(top.Big(), 2))
	case m.Ladder.ExpectedMax > 0 && m.Target.Relative > 0:
		z := distuv.UnitNormal.Quantile((1 + m.Target.Confidence) / 2)
		sigma := m.Target.Relative * m.Ladder.ExpectedMax / z
		if math.IsNaN(sigma) || sigma <= 0 {
			return first, Invalid("metrics."+m.Name+".target", "confidence and relative must be between 0 and 1")
		}
		first, err = state.PrecisionFromSigma(sigma)
	default:
		first, err = state.PrecisionFromBig(new(big.Int).Rsh(top.Big(), 24))
	}
	if err != nil || first.IsZero() {
		return first, Invalid(field, "the first rung has no precision left at all; lower last_at_least or expected_max")
	}
	if first.Cmp(top) > 0 {
		return first, Invalid(field, "the first rung would be finer than the top; raise first_sigma or lower last_at_least")
	}
	return first, nil
}
