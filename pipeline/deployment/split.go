package deployment

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"

	"gonum.org/v1/gonum/mathext"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// allotment is the part of the budget that a metric gets.
type allotment struct {
	first, top units.Precision
	deltaKey   units.Delta
	// of the metric's share of counted events; zero without one
	countedFirst, countedTop units.Precision
}

// split divides B² and δ_keys over the metrics: what explicit caps take for their own
// last_at_least windows comes off first, the rest goes by share.
func split(metrics []Metric, b budgets.Budget) ([]allotment, error) {
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
			return nil, Invalid("metrics."+m.Name+".last_at_least", "it is missing: it says how much of the budget a metric with ladder.sigma leaves to the metrics without")
		}
		top, err := units.PrecisionFromSigma(m.Ladder.Sigma)
		if err != nil {
			return nil, Invalid("metrics."+m.Name+".ladder.sigma", "%v", err)
		}
		taken := m.worst(top, besideCap(m, top))
		rest.Sub(rest, new(big.Rat).SetInt(taken.Mul(taken, big.NewInt(int64(m.LastAtLeast)))))
	}
	if byShare > 0 && rest.Sign() <= 0 {
		return nil, capsTakeAll(metrics, rest, b)
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
// the top, each component charged in whole units, and beside them what counted takes.
func (m *Metric) worst(top units.Precision, beside *big.Int) *big.Int {
	w := worstOfKey(metrickind.Of(m.Kind), m.bounds(), m.further(), m.scale(), top)
	return w.Mul(w, big.NewInt(int64(m.MaxKeysPerUser))).Add(w, beside)
}

// worstOfKey returns what one count costs a user at most, in account units, with all its
// components: further ones that are sums, and the nodes of trees of that scale, if it has any.
func worstOfKey(kind metrickind.Kind, b metrickind.Bounds, sums []metrickind.Kind, scale *metrickind.Scale, top units.Precision) *big.Int {
	w := charge(squareOf(kind.Sensitivity(b)), top)
	for _, further := range sums {
		w.Add(w, chargeBig(squareOf(further.Sensitivity(b)), topOf(further, b, top, scale)))
	}
	if scale != nil { // at each level, the squares of a contribution's parts add up to at most its own
		levels := big.NewInt(int64(scale.Levels()))
		w.Add(w, chargeBig(levels.Mul(levels, squareOf(kind.Sensitivity(b))), topOfNodes(top)))
	}
	return w
}

// topOf returns the top precision of a further component of a count. top is that of the first
// component; scale is that of the count's tree, or nil.
func topOf(further metrickind.Kind, b metrickind.Bounds, top units.Precision, scale *metrickind.Scale) *big.Int {
	all := new(big.Int).Mul(top.Big(), big.NewInt(sumsFiner(scale)))
	return all.Quo(all, further.Square(b))
}

func sumsFiner(scale *metrickind.Scale) int64 {
	if scale == nil {
		return metrickind.SumsFiner(0)
	}
	return metrickind.SumsFiner(scale.Levels())
}

// topOfNodes returns the top precision of the nodes of trees of values where that of the number of
// events is top.
func topOfNodes(top units.Precision) *big.Int {
	return new(big.Int).Mul(top.Big(), big.NewInt(metrickind.NodesFiner))
}

func squareOf(c int64) *big.Int { return new(big.Int).Mul(big.NewInt(c), big.NewInt(c)) }

// charge is units.Charge of a squared contribution, where it need not fit an
// account: ⌈c²·u·2^-40⌉.
func charge(square *big.Int, u units.Precision) *big.Int { return chargeBig(square, u.Big()) }

func chargeBig(square, u *big.Int) *big.Int {
	w := new(big.Int).Mul(u, square)
	return w.Add(w, new(big.Int).Sub(twoTo40, big.NewInt(1))).Rsh(w, 40)
}

// contribution returns c_max: by how much one user moves one key's count at most.
func (m *Metric) contribution() int64 {
	return metrickind.Of(m.Kind).Sensitivity(m.bounds())
}

func (m *Metric) bounds() metrickind.Bounds {
	return metrickind.Bounds{Events: int64(m.MaxEventsPerKey), Min: m.Min, Max: m.Max}
}

func (m *Metric) square() *big.Int { return squareOf(m.contribution()) }

// besideCap is what the share of counted events costs for each window of last_at_least beside an
// explicit cap, in account units: its share of both.
func besideCap(m *Metric, top units.Precision) *big.Int {
	counts := new(big.Rat)
	if m.Counted != nil {
		counts.SetFloat64(m.Counted.Share)
	}
	all := new(big.Rat).SetInt(m.worst(top, new(big.Int)))
	all.Quo(all, new(big.Rat).Sub(big.NewRat(1, 1), counts))
	return floorDiv(counts.Mul(counts, all), big.NewInt(1))
}

// share is a metric's part of B² and of δ_keys.
type share struct{ budget, keys *big.Rat }

func shares(metrics []Metric, byShare, private int) ([]share, error) {
	out, err := sharesAs(metrics, byShare, private, func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) })
	if err != nil { // 0.1 and 0.9 are 1 as they are written, and a little more as binary fractions
		out, err = sharesAs(metrics, byShare, private, func(v float64) *big.Rat {
			r, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
			return r
		})
	}
	return out, err
}

// sharesAs takes the shares in a configuration as the numbers that exact makes of them.
func sharesAs(metrics []Metric, byShare, private int, exact func(float64) *big.Rat) ([]share, error) {
	out := make([]share, len(metrics))
	sum, sumKeys := new(big.Rat), new(big.Rat)
	for i := range metrics {
		m := &metrics[i]
		s := share{new(big.Rat), new(big.Rat)}
		if m.Share > 0 {
			s.budget.Set(exact(m.Share))
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
		worst, _ := sum.Float64()
		if keys, _ := sumKeys.Float64(); keys > worst {
			worst = keys
		}
		return nil, Invalid("metrics", "their shares add up to %.3g, more than 1: give each metric one, for example share: %.3g (a metric without a share has 1 divided by the number of metrics)", worst, math.Floor(1000/float64(len(metrics)))/1000)
	}
	return out, nil
}

// allot computes what a metric gets. An error that fewer windows would avoid says how many.
func allot(m *Metric, rest *big.Rat, s share, b budgets.Budget) (allotment, error) {
	a, err := allotted(m, rest, s, b)
	var bad *ConfigError
	if !errors.As(err, &bad) || m.LastAtLeast == 0 {
		return a, err
	}
	fewer := *m
	most := sort.Search(m.LastAtLeast, func(n int) bool {
		fewer.LastAtLeast = n + 1
		_, err := allotted(&fewer, rest, s, b)
		return err != nil
	})
	switch {
	case most > 0:
		return a, Invalid(bad.Field, "%s. With last_at_least: %d or less it works", bad.Reason, most)
	case bad.Field == "metrics."+m.Name+".counted": // which names a remedy of its own
	case m.Ladder.Sigma == 0 && m.Ladder.FirstSigma == 0 && m.Ladder.ExpectedMax == 0:
		return a, Invalid("metrics."+m.Name+".max_events_per_key", "even one window would have no precision left: lower max_keys_per_user and max_events_per_key, or raise privacy.epsilon")
	}
	return a, err
}

// capsTakeAll says by how much explicit caps have to be coarser. rest is what they leave: 0 or
// less.
func capsTakeAll(metrics []Metric, rest *big.Rat, b budgets.Budget) error {
	at := slices.IndexFunc(metrics, func(m Metric) bool { return m.Ladder.Sigma > 0 })
	m := &metrics[at]
	have := new(big.Rat).SetInt(accountUnits(b.Mu2))
	times, _ := new(big.Rat).Quo(new(big.Rat).Sub(have, rest), have).Float64()
	return Invalid("metrics."+m.Name+".ladder.sigma", "the last_at_least windows of all metrics with ladder.sigma cost %.3g times the whole budget and leave nothing for the others: set for example ladder.sigma: %s here, or fewer windows",
		times, atLeastText(m.Ladder.Sigma*math.Sqrt(2*times)))
}

// atLeastText writes a number with three digits, rounded up.
func atLeastText(v float64) string {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Sprint(v)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	return strconv.FormatFloat(math.Ceil(v/unit)*unit, 'g', 3, 64)
}

func allotted(m *Metric, rest *big.Rat, s share, b budgets.Budget) (allotment, error) {
	var a allotment
	var err error
	var counted *big.Int // account units
	if m.Ladder.Sigma > 0 {
		if a.top, err = units.PrecisionFromSigma(m.Ladder.Sigma); err == nil {
			counted = besideCap(m, a.top)
		}
	} else {
		var top *big.Int
		top, counted = sharedTop(m, new(big.Rat).Mul(rest, s.budget))
		a.top, err = units.PrecisionFromBig(top)
	}
	if err != nil || a.top.IsZero() {
		if m.Ladder.Sigma > 0 {
			return a, Invalid("metrics."+m.Name+".ladder.sigma", "%v is too large: no precision is left; leave it out, or give for example 50", m.Ladder.Sigma)
		}
		return a, Invalid("metrics."+m.Name+".last_at_least", "%d windows leave no precision for any of them, at these bounds and this epsilon: ask for fewer windows, lower the bounds, or raise privacy.epsilon", m.LastAtLeast)
	}
	if err := payable(m, a.top, b); err != nil {
		return a, err
	}
	if a.first, err = firstRung(m, a.top); err != nil {
		return a, err
	}
	if m.Counted != nil {
		if err := a.count(m, counted); err != nil {
			return a, err
		}
	}
	if m.Keys.Mode == KeysPrivate {
		keys := new(big.Rat).Mul(new(big.Rat).SetInt(b.Keys.Big()), s.keys)
		over := new(big.Int).Mul(big.NewInt(int64(m.LastAtLeast)), big.NewInt(int64(m.MaxKeysPerUser)))
		a.deltaKey, err = units.DeltaFromBig(floorDiv(keys, over))
		if err != nil || a.deltaKey.IsZero() {
			return a, Invalid("metrics."+m.Name+".keys", "δ is too small for %d windows and %d keys of a user in each: raise privacy.delta or privacy.delta_keys", m.LastAtLeast, m.MaxKeysPerUser)
		}
	}
	return a, nil
}

// sharedTop returns u_top from a metric's part of B², with the account units of its share of
// counted events for one window. Each of the K charges of a window is
// rounded up on its own, so the part is divided into whole account units first:
// ⌈C²·u_top·2^-40⌉ ≤ ⌊rest/K⌋, where K counts each component. Dividing once by N·K·C² would leave
// the last window short of some units.
func sharedTop(m *Metric, part *big.Rat) (top, counted *big.Int) {
	window := floorDiv(part, big.NewInt(int64(m.LastAtLeast)))
	counted = new(big.Int)
	if m.Counted != nil {
		r := new(big.Rat).SetFloat64(m.Counted.Share)
		counted = floorDiv(r.Mul(r, new(big.Rat).SetInt(window)), big.NewInt(1))
	}
	window.Sub(window, counted)
	window.Div(window, big.NewInt(int64(m.MaxKeysPerUser)*m.components()))
	window.Mul(window, twoTo40)
	return window.Div(window, m.square()), counted
}

// components returns what a count costs a user at most, as a multiple of what its first component
// costs: all that are sums cost the same, and so do all levels of a tree.
func (m *Metric) components() int64 {
	scale := m.scale()
	n := 1 + sumsFiner(scale)*int64(len(m.further()))
	if scale != nil {
		n += metrickind.NodesFiner * int64(scale.Levels())
	}
	return n
}

// count sets the ladder of a metric's share of counted events. Half of part is for the window, the
// other half is kept, so that the worst case of a window, ⌈C²·u_top·2^-40⌉ + 1, is at most half of
// it.
func (a *allotment) count(m *Metric, part *big.Int) error {
	field := "metrics." + m.Name + ".counted"
	top := new(big.Int).Rsh(part, 1)
	top.Sub(top, big.NewInt(1)).Lsh(top, 40)
	top.Quo(top, squareOf(int64(m.Counted.MaxEvents)))
	err := errNoPrecision
	if top.BitLen() > 24 && top.Sign() > 0 {
		a.countedTop, err = units.PrecisionFromBig(top)
	}
	if err == nil {
		a.countedFirst, err = units.PrecisionFromBig(new(big.Int).Rsh(top, 24))
	}
	if err != nil {
		return Invalid(field, "its share, %v, leaves no precision for %d events of a user in a window: lower counted.max_events, raise counted.share (the default is 0.05), or raise privacy.epsilon", m.Counted.Share, m.Counted.MaxEvents)
	}
	return nil
}

var errNoPrecision = errors.New("no precision is left")

func floorDiv(r *big.Rat, by *big.Int) *big.Int {
	return new(big.Int).Div(r.Num(), new(big.Int).Mul(r.Denom(), by))
}

// firstRung returns u_1, the precision of the first rung.
func firstRung(m *Metric, top units.Precision) (units.Precision, error) {
	field := "metrics." + m.Name + ".ladder"
	var first units.Precision
	var err error
	switch {
	case m.Ladder.FirstSigma > 0:
		first, err = units.PrecisionFromSigma(m.Ladder.FirstSigma)
	case m.Keys.Mode == KeysPrivate:
		first, err = units.PrecisionFromBig(new(big.Int).Rsh(top.Big(), 2))
	case m.Ladder.ExpectedMax > 0 && m.Target.Relative > 0:
		z := mathext.NormalQuantile((1 + m.Target.Confidence) / 2)
		sigma := m.Target.Relative * m.Ladder.ExpectedMax / z
		if math.IsNaN(sigma) || sigma <= 0 {
			return first, Invalid("metrics."+m.Name+".target", "confidence and relative must be between 0 and 1")
		}
		first, err = units.PrecisionFromSigma(sigma)
	default:
		first, err = units.PrecisionFromBig(defaultFirst(m, top.Big()))
	}
	if err != nil || first.IsZero() {
		return first, Invalid(field, "the first rung has no precision left: %s", refineFirst(m))
	}
	if first.Cmp(top) > 0 {
		return first, Invalid(field, "the first rung would be finer than the top, whose σ is %s: give ladder.first_sigma: %s or more%s", atLeastText(1/math.Sqrt(top.Float())), atLeastText(1/math.Sqrt(top.Float())), insteadOf(m))
	}
	return first, nil
}

// defaultFirst is the top divided by 2^24. If further components cannot be drawn with so little
// precision, it is the least that they need, but at most the top.
func defaultFirst(m *Metric, top *big.Int) *big.Int {
	first := new(big.Int).Rsh(top, 24)
	for _, further := range m.further() {
		enough := new(big.Int).Mul(leastFurther.Big(), further.Square(m.bounds()))
		first = greatest(first, enough.Lsh(enough, 1))
	}
	return least(first, top)
}

func greatest(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

// refineFirst says which field makes the first rung too coarse, as a remedy.
func refineFirst(m *Metric) string {
	switch {
	case m.Ladder.FirstSigma > 0:
		return "lower ladder.first_sigma"
	case m.Keys.Mode != KeysPrivate && m.Ladder.ExpectedMax > 0 && m.Target.Relative > 0:
		return "lower ladder.expected_max"
	case m.Ladder.Sigma > 0:
		return "lower ladder.sigma"
	}
	return "lower last_at_least, or raise privacy.epsilon"
}

// insteadOf says which field decides the first rung where ladder.first_sigma does not.
func insteadOf(m *Metric) string {
	if m.Ladder.FirstSigma == 0 && m.Ladder.ExpectedMax > 0 {
		return fmt.Sprintf(" in place of ladder.expected_max, %v, of which target.relative makes it", m.Ladder.ExpectedMax)
	}
	return ""
}
