package deployment

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// allotment holds one metric's part of every user's account, and the precisions of its ladder.
type allotment struct {
	first, top units.Precision
	deltaKey   units.Delta
	allowance  accounts.Allowance
	// The other fields belong to the metric's share of counted events. They are zero without one.
	counted                  accounts.Allowance
	countedFirst, countedTop units.Precision
	countedEvents            int
}

// Horizon returns the time over which an account is paid out.
func (p *Privacy) Horizon() time.Duration { return cmp.Or(p.Period, p.Lasts) }

// split divides every account among the metrics and computes the precisions of their ladders.
func split(c *Config, b budgets.Budget) ([]allotment, error) {
	shares, err := shares(c.Metrics)
	if err != nil {
		return nil, err
	}
	out := make([]allotment, len(c.Metrics))
	for i := range c.Metrics {
		part := floorDiv(shares[i].Mul(shares[i], new(big.Rat).SetInt(accountUnits(b.Mu2))), big.NewInt(1))
		if out[i], err = allot(&c.Metrics[i], part, &c.Privacy, b); err != nil {
			return nil, inMetric(i, err)
		}
	}
	return out, nil
}

// allot computes a metric's allotment from its part of an account, in account units.
func allot(m *Metric, part *big.Int, p *Privacy, b budgets.Budget) (a allotment, err error) {
	counted := new(big.Int)
	if m.Counted != nil {
		counted = accountUnits(accounts.Part(units.Mu2(part.Uint64()), m.Counted.Share))
	}
	part.Sub(part, counted)
	if a.top, err = m.top(part, p.Horizon()); err != nil {
		return a, err
	}
	a.allowance = accounts.NewAllowance(units.Mu2(part.Uint64()), m.Burst, p.Horizon().Milliseconds())
	if err := checkPayable(m, a.top, accountUnits(a.allowance.Burst)); err != nil {
		return a, err
	}
	if a.first, err = firstRung(m, a.top); err != nil {
		return a, err
	}
	if m.Keys.Mode == KeysPrivate {
		if a.deltaKey = b.KeyDelta(a.first); a.deltaKey.IsZero() {
			return a, Invalid("Keys", "δ is too small for noise of this size: raise %s or %s", field("Privacy.Delta"),
				field("Privacy.DeltaKeys"))
		}
	}
	if m.Counted != nil {
		err = a.setCounted(m, counted, p)
	}
	return a, err
}

// noiseField returns the path of the field that sets the least noise of a release.
func (m *Metric) noiseField() string {
	if metrickind.Of(m.Kind).CountTarget() {
		return "Target.Absolute"
	}
	return "Noise"
}

// top returns the precision at the top of the metric's ladder, where a release has the least noise.
// An error proposes a noise for part, the metric's part of an account over the horizon.
func (m *Metric) top(part *big.Int, horizon time.Duration) (units.Precision, error) {
	path, target := m.noiseField(), m.Target
	if path == "Noise" {
		target = noisereduction.Target{Absolute: m.Noise, Confidence: m.Target.Confidence}
	}
	if err := badTarget(noisereduction.Target{Relative: target.Relative, Confidence: target.Confidence}); err != nil {
		return units.Precision{}, err
	}
	if target.Absolute == 0 {
		return units.Precision{}, m.missingNoise(path, part, horizon)
	}
	top, err := noisereduction.TopFor(noisereduction.Spec{Kind: noisereduction.Kind(m.Ladder.Kind),
		Factor: m.Ladder.Factor, Target: target})
	if err != nil || top.IsZero() {
		return top, Invalid(path, "%v is out of range: give for example 100", target.Absolute)
	}
	return top, nil
}

// missingNoise returns the error for a metric whose least noise is not configured. The error
// proposes a value and explains its effect.
func (m *Metric) missingNoise(path string, part *big.Int, horizon time.Duration) error {
	budget, _ := new(big.Float).SetInt(part).Float64()
	windows := math.Ceil(float64(horizon) / float64(m.Slide))
	sigma := math.Sqrt(float64(m.costFactor()) * windows / math.Ldexp(max(1, budget), -units.Mu2Bits))
	counted := "one event"
	if metrickind.Of(m.Kind).Sums() {
		counted = "a value of 1"
	}
	proposal := proposed("Metrics."+path, roundUpText(math.Sqrt2*math.Erfinv(m.Target.Confidence)*sigma))
	return Invalid(path, "the least noise is missing: with %s, %s of each user and key counts in every window; with "+
		"half as much noise, in one window of four", proposal, counted)
}

var twoTo40 = new(big.Int).Lsh(big.NewInt(1), 40)

// worstCost returns the most that one count can cost a user, in account units. It includes the
// count itself, its further sums and, if scale is not nil, the nodes of its tree.
func worstCost(kind metrickind.Kind, b metrickind.Bounds, sums []metrickind.Kind, scale *metrickind.Scale,
	top units.Precision) *big.Int {
	w := charge(squareOf(kind.Sensitivity(b)), top)
	for _, sum := range sums {
		w.Add(w, chargeBig(squareOf(sum.Sensitivity(b)), topOf(sum, b, top, scale)))
	}
	if scale != nil { // at each level, the squares of a contribution's parts sum to at most its square
		levels := big.NewInt(int64(scale.Levels()))
		w.Add(w, chargeBig(levels.Mul(levels, squareOf(kind.Sensitivity(b))), topOfNodes(top)))
	}
	return w
}

// topOf returns the top precision of a further sum of a count. top is the top precision of the
// count's first component. scale is the scale of the count's tree; nil if the count has no tree.
func topOf(sum metrickind.Kind, b metrickind.Bounds, top units.Precision, scale *metrickind.Scale) *big.Int {
	product := new(big.Int).Mul(top.Big(), big.NewInt(sumsFiner(scale)))
	return product.Quo(product, sum.Square(b))
}

func sumsFiner(scale *metrickind.Scale) int64 {
	if scale == nil {
		return metrickind.SumsFiner(0)
	}
	return metrickind.SumsFiner(scale.Levels())
}

// topOfNodes returns a tree's top precision of nodes, from the top precision for counting events.
func topOfNodes(top units.Precision) *big.Int {
	return new(big.Int).Mul(top.Big(), big.NewInt(metrickind.NodesFiner))
}

func squareOf(c int64) *big.Int { return new(big.Int).Mul(big.NewInt(c), big.NewInt(c)) }

// charge is units.Charge for squared contributions of any size: it returns ⌈c²·u·2^-40⌉.
func charge(square *big.Int, u units.Precision) *big.Int { return chargeBig(square, u.Big()) }

func chargeBig(square, u *big.Int) *big.Int {
	w := new(big.Int).Mul(u, square)
	return w.Add(w, new(big.Int).Sub(twoTo40, big.NewInt(1))).Rsh(w, 40)
}

func (m *Metric) bounds() metrickind.Bounds {
	return metrickind.Bounds{Events: int64(m.MaxEventsPerKey), Min: m.Min, Max: m.Max}
}

// roundUpText formats a number with three significant digits, rounded up.
func roundUpText(v float64) string {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Sprint(v)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	return strconv.FormatFloat(math.Ceil(v/unit)*unit, 'f', int(max(0, math.Round(-math.Log10(unit)))), 64)
}

// costFactor returns the highest cost of a count for a user, divided by the cost of the count's
// first component. Every further sum costs as much as the first component times sumsFiner, and
// every level of a tree as much as the first component times metrickind.NodesFiner.
func (m *Metric) costFactor() int64 {
	scale := m.scale()
	n := 1 + sumsFiner(scale)*int64(len(m.extraSums()))
	if scale != nil {
		n += metrickind.NodesFiner * int64(scale.Levels())
	}
	return n
}

// setCounted sets the ladder of the metric's share of counted events. part is that share's part of
// an account. It pays for every window of the horizon, even if each costs the most it can:
// ⌈C²·u_top·2^-40⌉ + 1.
func (a *allotment) setCounted(m *Metric, part *big.Int, p *Privacy) error {
	a.countedEvents = m.Counted.MaxEvents
	if a.countedEvents == 0 {
		spec := schemas.MetricSpec{Kind: metrickind.Counted, Top: a.top, Burst: a.allowance.Burst}
		a.countedEvents = int(spec.Bounds().Events)
	}
	a.counted = accounts.Allowance{Burst: units.Mu2(part.Uint64()), Horizon: p.Horizon().Milliseconds()}
	top := new(big.Int).Quo(part, big.NewInt(int64(overlappingWindows(p.Horizon(), m.Window, m.Slide))))
	top.Sub(top, big.NewInt(1)).Lsh(top, 40)
	top.Quo(top, squareOf(int64(a.countedEvents)))
	err := errNoPrecision
	if top.BitLen() > 24 && top.Sign() > 0 {
		a.countedTop, err = units.PrecisionFromBig(top)
	}
	if err == nil {
		a.countedFirst, err = units.PrecisionFromBig(new(big.Int).Rsh(top, 24))
	}
	if err != nil {
		return Invalid("Counted", "its share, %v, leaves no precision for %d events of one user in a window: lower "+
			"%s, raise %s, or raise %s", m.Counted.Share, a.countedEvents, field("Metrics.Counted.MaxEvents"),
			field("Metrics.Counted.Share"), field("Privacy.Epsilon"))
	}
	return nil
}

var errNoPrecision = errors.New("no precision is left")

func floorDiv(r *big.Rat, divisor *big.Int) *big.Int {
	return new(big.Int).Div(r.Num(), new(big.Int).Mul(r.Denom(), divisor))
}

// firstRung returns u_1, the precision of the first rung: the top if no release can stop earlier.
func firstRung(m *Metric, top units.Precision) (units.Precision, error) {
	early := m.Target.Relative > 0 || m.Target.Absolute > 0 && !metrickind.Of(m.Kind).CountTarget()
	if !early {
		return top, nil
	}
	rung := defaultFirst(m, top.Big())
	if m.Keys.Mode == KeysPrivate {
		rung = new(big.Int).Rsh(top.Big(), 2)
	}
	first, err := units.PrecisionFromBig(rung)
	if err != nil || first.IsZero() {
		return first, Invalid("Target", "the first rung has no precision left: ask for less noise")
	}
	return first, nil
}

// defaultFirst returns top/2^24 or, if that is too low to draw all further sums, the least
// precision at which they can be drawn. The result is at most top.
func defaultFirst(m *Metric, top *big.Int) *big.Int {
	first := new(big.Int).Rsh(top, 24)
	for _, sum := range m.extraSums() {
		enough := new(big.Int).Mul(leastExtra.Big(), sum.Square(m.bounds()))
		if enough.Lsh(enough, 1).Cmp(first) > 0 {
			first = enough
		}
	}
	return smaller(first, top)
}

func smaller(a, b *big.Int) *big.Int {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

func accountUnits(m units.Mu2) *big.Int { return new(big.Int).SetUint64(uint64(m)) }

// shares returns each metric's part of an account, as a fraction of 1.
func shares(metrics []Metric) ([]*big.Rat, error) {
	out, err := exactShares(metrics, func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) })
	if err != nil { // 0.1 and 0.9 add up to 1 as decimals, and to a little more as binary fractions
		out, err = exactShares(metrics, func(v float64) *big.Rat {
			r, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
			return r
		})
	}
	return out, err
}

// exactShares returns each metric's part of an account. exact converts a share to a fraction.
func exactShares(metrics []Metric, exact func(float64) *big.Rat) ([]*big.Rat, error) {
	out, sum := make([]*big.Rat, len(metrics)), new(big.Rat)
	for i := range metrics {
		out[i] = big.NewRat(1, int64(len(metrics)))
		if share := metrics[i].Share; share > 0 {
			out[i] = exact(share)
		}
		sum.Add(sum, out[i])
	}
	if sum.Cmp(big.NewRat(1, 1)) > 0 {
		total, _ := sum.Float64()
		return nil, Invalid("Metrics", "their shares add up to %.3g, which is more than 1: give each metric a share, "+
			"for example %s (a metric without a share has 1 divided by the number of metrics)",
			total, proposed("Metrics.Share", math.Floor(1000/float64(len(metrics)))/1000))
	}
	return out, nil
}

// checkPayable returns an error if the least noise is so small that one event costs a user more
// than a full bucket. For sums, that event has the value 1.
func checkPayable(m *Metric, top units.Precision, burst *big.Int) error {
	oneEvent := m.bounds()
	oneEvent.Events = 1
	if metrickind.Of(m.Kind).Sums() {
		oneEvent.Min, oneEvent.Max = 0, 1
	}
	if worst := worstCost(metrickind.Of(m.Kind), oneEvent, m.extraSums(), m.scale(), top); worst.Cmp(burst) > 0 {
		cost, _ := worst.Float64()
		budget, _ := new(big.Float).SetInt(burst).Float64()
		path, noise := m.noiseField(), m.Target.Absolute
		if path == "Noise" {
			noise = m.Noise
		}
		if budget < 1 {
			budget = 1
		}
		return Invalid(path, "%v is finer than a user's allowance pays for, even for one event: give %s or more, or "+
			"raise %s", noise, roundUpText(1.001*noise*math.Sqrt(cost/budget)), field("Privacy.Epsilon"))
	}
	return nil
}
