package choice

import (
	"math"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

const (
	span     = 1 << 14    // ratio of the greatest tried noise to the least
	gridStep = math.Sqrt2 // factor between neighbouring noises of a private choice
)

// best finds the best noise for windows of the given size, in two rounds. If the noise is given, it
// only returns the outcome.
func (e *Events) best(q *Question) (Outcome, *table, error) {
	all, err := e.wide(q)
	if err != nil {
		return Outcome{}, nil, err
	}
	t, best, err := e.tryBest(q, all)
	if err != nil || q.Given.Noise > 0 {
		return best, t, err
	}
	var near []float64
	for _, factor := range []float64{-.75, -.5, -.25, .25, .5, .75} {
		near = append(near, best.Noise*math.Exp2(factor))
	}
	if all, err = options(q.Compile, q.Given, near...); err != nil {
		return best, t, nil //nolint:nilerr // no noise nearby is possible
	}
	second, nearer, err := e.tryBest(q, all)
	if err == nil && nearer.Typical < best.Typical {
		best = nearer
	}
	t.near = second
	return best, t, err
}

// wide returns settings for the first round: their noises cover every useful amount of noise. If
// the noise is given, it returns the setting with that noise.
func (e *Events) wide(q *Question) ([]option, error) {
	s := q.Given
	if s.Noise > 0 {
		return options(q.Compile, s, s.Noise)
	}
	d, err := payable(q.Compile, s)
	if err != nil {
		return nil, err
	}
	most, err := e.most(metrickind.Of(d.Metrics[0].Spec.Kind))
	if err != nil {
		return nil, err
	}
	return grid(q.Compile, s, float64(most), span, 2)
}

// tryBest returns the best outcome of several settings.
func (e *Events) tryBest(q *Question, all []option) (*table, Outcome, error) {
	t, err := e.try(q.Given.Window, all)
	if err != nil {
		return nil, Outcome{}, err
	}
	q.Progress(len(all))
	best := Outcome{Typical: math.Inf(1)}
	for i, option := range all {
		if o := t.outcome(i, option); o.Typical < best.Typical || o.Typical == best.Typical && o.Within > best.Within {
			best = o
		}
	}
	return t, best, nil
}

// most returns the greatest countable amount of one user.
func (e *Events) most(kind metrickind.Kind) (most uint64, err error) {
	c := &chooser{Private: &Private{Kind: kind}}
	return most, e.each(func(events []record, _ float64) (bool, error) {
		most = max(most, c.amount(events))
		return true, nil
	})
}

// payable compiles a setting with as much noise as possible, so that users can pay. Means with wide
// ranges do not permit very much noise, nor do private keys with a large budget and a small δ.
func payable(compile Compile, s Setting) (d *deployment.Deployment, err error) {
	for s.Noise = 1e6; s.Noise >= 1; s.Noise /= 2 {
		if d, err = compile(s); err == nil {
			return d, nil
		}
	}
	return nil, err
}

// grid returns settings with ascending noises; each noise is step times the one before it. With the
// greatest noise, even users with the amount most are fully counted in any window. The least noise
// is the greatest divided by span. If values are not summed, it is at least the noise at which a
// user can pay for one event.
func grid(compile Compile, s Setting, most, span, step float64) ([]option, error) {
	d, err := payable(compile, s)
	if err != nil {
		return nil, err
	}
	spec := &d.Metrics[0].Spec
	burst := d.Budget.Mu2
	if spec.Burst > 0 {
		burst = spec.Burst
	}
	noiseOfOne := 1 / math.Sqrt(burst.Float()) // noise at which users pay for one event; more for several components
	for s.Noise = 1.1 * noiseOfOne; s.Noise < finest(d); s.Noise *= 1.1 {
		if _, err := compile(s); err == nil {
			break
		}
		noiseOfOne *= 1.1
	}
	least := most * noiseOfOne / span
	if !metrickind.Of(spec.Kind).Sums() {
		least = max(noiseOfOne*1.001, least)
	}
	var noises []float64
	for n := least; n < 1.5*most*noiseOfOne; n *= step {
		noises = append(noises, n)
	}
	all, err := options(compile, s, noises...)
	if err != nil { // all possible noises lie between two steps
		return options(compile, s, finest(d))
	}
	return all, nil
}
