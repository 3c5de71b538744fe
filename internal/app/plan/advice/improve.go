package advice

import (
	"context"
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/config"
)

// Improvement is the one change of a setting that helps most.
type Improvement struct {
	What     string // the flag of demo that is changed
	Now, New Point
}

// enough is by how much less of the truth must be hidden or wrong for a change to be worth telling.
const enough = 0.05

// Improve looks for the one change of a setting that helps most: another bound, another lifetime,
// larger windows; a weaker promise only where nothing else helps. Nil where nothing does. Only
// Sample, Terms and Compile of the question are used.
func Improve(ctx context.Context, q Question, now Setting) (*Improvement, error) {
	w, err := q.Sample.Windows(now.Window)
	if err != nil {
		return nil, err
	}
	before, err := q.point(ctx, w, now, nil, 3)
	if err != nil {
		return nil, err
	}
	var best *Improvement
	try := func(what string, changed Setting) error {
		of := w
		if changed.Window != now.Window {
			if of, err = q.Sample.Windows(changed.Window); err != nil || of.Len() < 2 {
				return nil //nolint:nilerr // such windows cannot be
			}
		}
		p, err := q.point(ctx, of, changed, nil, 3)
		if err != nil {
			return ctx.Err() // what cannot be is no change
		}
		if p.Wrong < before.Wrong-enough && (best == nil || p.Wrong < best.New.Wrong-0.02) {
			best = &Improvement{what, *before, *p}
		}
		return nil
	}
	for _, c := range changes(now) {
		if err := try(c.what, c.to); err != nil {
			return nil, err
		}
	}
	if best == nil {
		weaker := now
		for range 3 {
			weaker.Epsilon *= 2
			if err := try(fmt.Sprintf("--epsilon %v (a weaker promise)", weaker.Epsilon), weaker); err != nil {
				return nil, err
			}
		}
	}
	return best, nil
}

type step struct {
	what string
	to   Setting
}

// changes are those of one thing, the smaller ones first.
func changes(now Setting) (out []step) {
	add := func(what string, set func(*Setting)) {
		to := now
		if set(&to); to != now {
			out = append(out, step{what, to})
		}
	}
	for _, times := range []float64{0.25, 0.5, 2, 5, 10, 50} {
		k, e, l := round(times*float64(now.KeysPerUser)), round(times*float64(now.EventsPerKey)), round(times*float64(now.LastAtLeast))
		add(fmt.Sprintf("--max-keys-per-user %d", k), func(s *Setting) { s.KeysPerUser = k })
		add(fmt.Sprintf("--max-events-per-key %d", e), func(s *Setting) { s.EventsPerKey = e })
		add(fmt.Sprintf("--last-at-least %d", l), func(s *Setting) { s.LastAtLeast = l })
	}
	for _, times := range []int{2, 3, 6, 24, 168} {
		size := time.Duration(times) * now.Window
		add("--window "+config.Duration(size), func(s *Setting) { s.Window = size })
	}
	return out
}
