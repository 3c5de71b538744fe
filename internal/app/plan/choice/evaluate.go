package choice

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Setting holds the settings that can be chosen. All other settings of a deployment are given.
type Setting struct {
	Window  time.Duration `json:"-"`
	Noise   float64       `json:"noise"` // deviation of the finest noise, in events or in the unit of a sum
	Epsilon float64       `json:"epsilon"`
	Lasts   time.Duration `json:"-"`             // horizon of the promise
	Min     int64         `json:"min,omitempty"` // least clamped value, for kinds with a range
	Max     int64         `json:"max,omitempty"` // greatest clamped value
}

// option is a setting with its deployment.
type option struct {
	Setting
	d *deployment.Deployment
}

// options compiles a setting with each of the noises. It omits noises with which compile fails, and
// returns an error if that leaves none.
func options(compile Compile, s Setting, noises ...float64) (all []option, err error) {
	for _, s.Noise = range noises {
		d, failed := compile(s)
		if failed == nil {
			all = append(all, option{s, d})
		}
		err = failed
	}
	if len(all) > 0 {
		err = nil
	}
	return all, err
}

// Compile returns a deployment with one metric for a setting.
type Compile func(Setting) (*deployment.Deployment, error)

// Outcome is the forecast for a setting.
type Outcome struct {
	Setting
	// Typical is the median of |value − real value| / real value over the largest cells that
	// together hold half of the countable amount. A cell without a value counts as 1.
	Typical   float64 `json:"typical_error"`
	Counted   float64 `json:"counted"`   // counted share of the countable amount
	Cells     float64 `json:"cells"`     // number of (window, key) pairs
	Shown     float64 `json:"shown"`     // number of published cells
	Within    float64 `json:"within"`    // share of the countable amount in published cells
	Threshold float64 `json:"threshold"` // threshold of private keys
	Half      float64 `json:"half"`      // least size among the largest cells that hold half of the amount
}

// trial holds the counts of a tried deployment.
type trial struct {
	option
	person  *spend.Person
	counted [][components]float64 // by cell
}

// components is the number of components of a cell in a trial: a mean has two.
const components = 2

func newTrials(all []option) (trials []*trial, err error) {
	for _, o := range all {
		p, err := spend.NewPerson(o.d.Budget, [32]byte{1}, o.d.Specs())
		if err != nil {
			return nil, err
		}
		trials = append(trials, &trial{option: o, person: p})
	}
	return trials, nil
}

// finest returns the deviation of a deployment's finest noise.
func finest(d *deployment.Deployment) float64 { return 1 / math.Sqrt(d.Metrics[0].Spec.Top.Float()) }

// count calls add with a user's contribution to each entry. The horizon begins with the window
// whose number is start.
func (t *trial) count(p *person, size, start int64, add func(entry int, part spend.Part)) error {
	t.person.Begin(accounts.Entry{ID: p.id}, p.names)
	for _, w := range p.windows {
		entries := p.entries[w.entries[0]:w.entries[1]]
		parts, err := t.person.Window(0, (w.number+1-start)*size, entries, p.records[w.recs[0]:w.recs[1]])
		if err != nil {
			return err
		}
		next := 0
		for _, part := range parts {
			for entries[next].Key != part.Key {
				next++
			}
			add(w.entries[0]+next, part)
		}
	}
	return nil
}

// table holds the counts of settings with the same windows and different noise.
type table struct {
	rate   float64 // share of the users whose events were examined
	trials []*trial
	truth  [][components]float64 // by cell: the countable amount, and for means the sum of values
	half   float64               // least size among the largest cells that hold half of the amount
	total  float64               // the countable amount of all cells
	kind   metrickind.Kind
	values map[int64]uint64 // number of events by coarse value
	spread spread
	near   *table // the second round, with noises near the best noise of the first round; may be nil
}

// ErrNothing means that there are no events.
var ErrNothing = errors.New("there are no events to plan for")

// mostEntries limits the number of examined (user, window, key) triples. Beyond it, only a sample
// of the users is examined.
const mostEntries = 1 << 20

// try returns the counts of settings with windows of the given size.
func (e *Events) try(size time.Duration, all []option) (*table, error) {
	if e.Count == 0 || len(all) == 0 {
		return nil, ErrNothing
	}
	t := &table{rate: 1, values: map[int64]uint64{}, kind: metrickind.Of(all[0].d.Metrics[0].Spec.Kind)}
	var err error
	if t.trials, err = newTrials(all); err != nil {
		return nil, err
	}
	c, start, entries := newCutter(size, t.kind), floor(e.First, size.Milliseconds()), 0
	err = e.each(func(events []record, part float64) (bool, error) {
		if entries > mostEntries && part > 0 {
			t.rate = part
			return false, nil
		}
		p := c.cut(events)
		entries += len(p.entries)
		return true, t.add(p, events, c, start)
	})
	if err != nil {
		return nil, err
	}
	t.finish()
	return t, nil
}

func (t *table) add(p *person, events []record, c *cutter, start int64) error {
	for len(t.truth) < len(c.cells) {
		t.truth = append(t.truth, [components]float64{})
	}
	for i, cell := range p.cells {
		t.truth[cell][0] += p.truth[i]
	}
	if t.kind.Values() && !t.kind.Sums() {
		for _, r := range events {
			t.truth[c.cells[place{floor(r.millis, c.size), r.key}]][1] += float64(r.value)
			t.values[coarse(r.value)]++
		}
	}
	for _, trial := range t.trials {
		for len(trial.counted) < len(c.cells) {
			trial.counted = append(trial.counted, [components]float64{})
		}
		if err := trial.count(p, c.size, start, func(entry int, part spend.Part) {
			cell := &trial.counted[p.cells[entry]]
			cell[0] += float64(part.Total)
			if len(part.Extra) > 0 {
				cell[1] += float64(part.Extra[0])
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) finish() {
	t.spread = spreadOf(t.values)
	sizes := make([]float64, len(t.truth))
	for i, cell := range t.truth {
		sizes[i] = math.Abs(cell[0]) / t.rate
		t.total += sizes[i]
	}
	t.half = LeastOfHalf(sizes)
}

// LeastOfHalf returns the least of the largest numbers that together make up half of the sum, or
// +Inf if all numbers are 0. It sorts the numbers.
func LeastOfHalf(sizes []float64) float64 {
	slices.Sort(sizes)
	all, sum := 0.0, 0.0
	for _, n := range sizes {
		all += n
	}
	for _, n := range slices.Backward(sizes) {
		if sum += n; n > 0 && 2*sum >= all {
			return n
		}
	}
	return math.Inf(1)
}

// normal holds evenly spaced quantiles of the standard normal distribution. They represent a cell's
// noise.
var normal = func() (z [24]float64) {
	for i := range z {
		z[i] = math.Sqrt2 * math.Erfinv((2*float64(i)+1)/float64(len(z))-1)
	}
	return z
}()

// outcome returns the forecast for an option that counts the same events as trial n: if the noise
// and the budget of the two differ, they differ by the same factor.
func (t *table) outcome(n int, tried option) Outcome {
	trial, sigma, threshold := t.trials[n], finest(tried.d), tried.d.Metrics[0].Plan.Threshold()
	o := Outcome{Setting: tried.Setting, Cells: float64(len(t.truth)), Threshold: max(0, threshold), Half: t.half}
	var errs []float64
	counted := 0.0
	for i, truth := range t.truth {
		value, size := trial.counted[i][0]/t.rate, math.Abs(truth[0])/t.rate
		counted += math.Abs(value)
		shown := 1 - normalBelow((threshold-value)/sigma)
		o.Shown += shown
		o.Within += shown * size
		if size < t.half*(1-1e-9) {
			continue
		}
		for _, z := range normal {
			errs = append(errs, t.errorOf(trial, i, value+sigma*z, threshold, sigma))
		}
	}
	o.Typical = Median(errs)
	o.Counted, o.Within = counted/t.total, o.Within/t.total
	return o
}

// errorOf returns the relative error of a cell whose noisy first component is y.
func (t *table) errorOf(tried *trial, cell int, y, threshold, sigma float64) float64 {
	truth := t.truth[cell]
	if y <= threshold {
		return 1
	}
	if t.kind.Vector == nil || t.kind.Vector.Ratios != 1 {
		// For variances, quantiles and histograms, this is the error of the number of events.
		return math.Abs(y-truth[0]/t.rate) / (math.Abs(truth[0]) / t.rate)
	}
	b := tried.d.Metrics[0].Spec.Bounds()
	mean, n, half := truth[1]/truth[0], tried.counted[cell][0], float64(b.Max-b.Min)/2
	if n == 0 {
		return 1
	}
	// The noise of the sum is max − min times the noise of the number of events.
	estimate := float64(b.Min+b.Max)/2 + tried.counted[cell][1]/n/2
	spread := sigma * math.Hypot(half, estimate-float64(b.Min+b.Max)/2) / (n / t.rate)
	z := (y - n/t.rate) / sigma
	return math.Abs(estimate+z*spread-mean) / t.spread.scale(mean)
}

// normalBelow returns the standard normal distribution function at z.
func normalBelow(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// Median sorts the numbers and returns their median, or 0 if there are no numbers.
func Median(numbers []float64) float64 {
	if len(numbers) == 0 {
		return 0
	}
	slices.Sort(numbers)
	return (numbers[(len(numbers)-1)/2] + numbers[len(numbers)/2]) / 2
}
