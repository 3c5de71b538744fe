package choice

import (
	"math"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

const (
	span     = 1 << 14    // ratio of the greatest to the least noise tried
	gridStep = math.Sqrt2 // factor between the noises tried for a private choice
)

// best finds the best noise for windows of the given size, in two rounds, unless it is given.
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

// wide returns settings whose noises cover every useful amount of noise, or the given noise.
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

// payable compiles a setting with as much noise as possible, so that users can pay. Means of wide
// ranges, and private keys with a large budget and a small δ, cannot have very much noise.
func payable(compile Compile, s Setting) (d *deployment.Deployment, err error) {
	for s.Noise = 1e6; s.Noise >= 1; s.Noise /= 2 {
		if d, err = compile(s); err == nil {
			return d, nil
		}
	}
	return nil, err
}

// grid returns settings with ascending noises, each step times the last. With the greatest, users
// with the largest amount are fully counted in any window. The least is the greatest divided by
// span or, if that is more and values are not summed, the noise at which a user pays for one event.
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
	one := 1 / math.Sqrt(burst.Float()) // noise at which users pay for one event; more for several components
	for s.Noise = 1.1 * one; s.Noise < finest(d); s.Noise *= 1.1 {
		if _, err := compile(s); err == nil {
			break
		}
		one *= 1.1
	}
	least := most * one / span
	if !metrickind.Of(spec.Kind).Sums() {
		least = max(one*1.001, least)
	}
	var noises []float64
	for n := least; n < 1.5*most*one; n *= step {
		noises = append(noises, n)
	}
	all, err := options(compile, s, noises...)
	if err != nil { // possible noises lie between two steps
		return options(compile, s, finest(d))
	}
	return all, nil
}
