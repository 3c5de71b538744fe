package advice

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// Need says what would suffice where the recommended setting does not: for values to be of use, or
// for one key to come out as exactly as asked for.
type Need struct {
	Key    string  `json:"key,omitempty"` // "": all of them
	Of     string  `json:"from"`          // what the typical error is measured from
	Within float64 `json:"within"`        // the typical error that is of use, or the relative error that the key is to be within
	// Now is the typical error of the recommended setting, or the share of the key's windows that
	// are not within what is asked for. At Limit or less nothing has to change.
	Now   float64 `json:"now"`
	Limit float64 `json:"limit"`
	// Changes are settings, each of which does, or does best of its kind, by its own figure.
	Changes []Change `json:"changes"`
}

// Enough says whether nothing has to change.
func (n *Need) Enough() bool { return n.Now <= n.Limit }

// Change is a setting that does more.
type Change struct {
	What  string  `json:"change"`
	Then  float64 `json:"then"`                      // as Need.Now
	Less  bool    `json:"less_than_asked,omitempty"` // helps, but is not enough
	Demo  string  `json:"demo,omitempty"`
	Point Point   `json:"point"`
}

// enough says whether the change does all that is asked for.
func (n *Need) enough(c *Change) bool { return c.Then <= n.Limit }

const (
	// often is the share of its windows in which a key is to be as exact as asked for.
	often = 0.9
	// greatest is the ε up to which it is asked whether more of it would do: above, a promise says
	// next to nothing.
	greatest = 20.0
	// worthwhile is by which part less a change has to leave to be told where it is not enough.
	worthwhile = 0.25
)

// asking is the search for a need.
type asking struct {
	*Question
	*Need
	of   score
	key  []uint32
	base *Point
	free bool // of the bounds that were given
}

// need asks what would suffice, where the setting that is recommended does not, or where a key is
// asked about; else it is nil.
func (q *Question) need(ctx context.Context, s *SizeAdvice) (*Need, error) {
	a := &asking{Question: q, Need: &Need{Of: s.Best().Of(), Within: q.Useful, Limit: q.Useful, Now: s.Best().Typical}, of: byError, base: s.Best()}
	switch {
	case q.Key != "":
		k := uint32(slices.Index(s.windows.Names, q.Key))
		a.Need = &Need{Key: q.Key, Of: a.Of, Within: cmp.Or(q.Within, q.Target.Relative), Limit: 1 - often}
		if a.Need.Within == 0 {
			return nil, nil //nolint:nilnil // nothing is asked
		}
		a.key, a.of = []uint32{k}, byKey
		now, err := q.verified(ctx, s.windows, a.asked(s.Best().Setting), a.key, telling, mostPaths)
		if err != nil {
			return nil, err
		}
		a.Now = byKey(now)
	case a.Enough():
		return nil, nil //nolint:nilnil // nothing is needed
	}
	if a.Enough() {
		return a.Need, nil
	}
	if err := a.try(ctx, a.bounds, a.windows, a.epsilon, a.together); err != nil {
		return nil, err
	}
	// With given bounds, a larger ε can be of no use by itself, and of much with other bounds.
	if a.key == nil && len(a.Changes) == 0 && a.given() != a.unbounded() {
		a.free = true
		if err := a.try(ctx, a.windows, a.epsilon, a.together); err != nil {
			return nil, err
		}
		for i := range a.Changes {
			a.Changes[i].What += ", and other bounds"
		}
	}
	return a.Need, nil
}

// try appends the changes that are worthwhile.
func (a *asking) try(ctx context.Context, kinds ...func(context.Context) (*Change, error)) error {
	for _, kind := range kinds {
		c, err := kind(ctx)
		if err != nil {
			return err
		}
		if c != nil && (a.enough(c) || c.Then < (1-worthwhile)*a.Now && c.Then < 0.95) {
			c.Less = !a.enough(c)
			a.Changes = append(a.Changes, *c)
		}
	}
	return nil
}

// byKey is the share of a key's windows that are not within the target of the truth.
func byKey(p *Point) float64 {
	k := &p.keys[0]
	return 1 - k.Within/max(1, k.Windows)
}

// asked is a setting with the target that the question has of a key.
func (a *asking) asked(s Setting) Setting {
	if a.key != nil && a.kind().Vector == nil {
		s.Relative = a.Need.Within
	}
	return s
}

// then is what a point gives.
func (a *asking) then(p *Point) float64 {
	if a.key != nil {
		return byKey(p)
	}
	return p.Typical
}

// with searches with other given settings.
func (a *asking) with(ctx context.Context, given Setting) (*Change, error) {
	thin := a.Sample.Thin(searched / 5)
	few, err := thin.Windows(given.Window)
	if err != nil {
		return nil, err
	}
	w, err := a.Sample.Windows(given.Window)
	if err != nil {
		return nil, err
	}
	if given.Together {
		few, w = few.Together(), w.Together()
	}
	q := *a.Question
	q.Given, q.KeepTarget = a.asked(given), q.KeepTarget || a.key != nil
	stats := few.Stats()
	f := newSearch(&q, few, &stats)
	f.key = a.key
	if err := f.run(ctx, a.of, 1); err != nil {
		return nil, ctx.Err() // what cannot be is no change
	}
	p, err := q.verified(ctx, w, f.points(a.of)[0].Setting, a.key, telling, mostPaths)
	if err != nil {
		return nil, err
	}
	c := &Change{Point: *p, Then: a.then(p)}
	if q.Command != nil {
		c.Demo = q.Command(p.Setting)
	}
	return c, nil
}

// given is what a change keeps: what was given, and the window.
func (a *asking) given() Setting {
	s := a.Given
	if a.free {
		s = a.unbounded()
	}
	s.Window = a.base.Window
	return s
}

// unbounded is given without bounds.
func (a *asking) unbounded() Setting {
	s := a.Given
	s.KeysPerUser, s.EventsPerKey, s.LastAtLeast, s.Window = 0, 0, 0, a.base.Window
	return s
}

// bounds looks for other bounds: for a key, because those that are recommended are best for all of
// them, and where some were given.
func (a *asking) bounds(ctx context.Context) (*Change, error) {
	s := a.given()
	if a.key == nil {
		if s = a.unbounded(); s == a.given() {
			return nil, nil //nolint:nilnil // they were chosen
		}
	}
	c, err := a.with(ctx, s)
	if c != nil {
		c.What = "bounds of " + BoundsText(c.Point.Setting) + ", and a budget that lasts for " + Lasts(c.Point.Setting)
	}
	return c, err
}

// least returns the first of some settings that is enough, by bisection: each does more than those
// before it. Where even the last is not, it is that one; nil where there is none.
func (a *asking) least(ctx context.Context, all []Setting, text func(Setting) string) (least *Change, err error) {
	for low, at, high := 0, len(all)-1, len(all); low < high; at = (low + high) / 2 {
		c, err := a.with(ctx, all[at])
		if err != nil {
			return nil, err
		}
		if c != nil {
			c.What = text(all[at])
		}
		switch enough := c != nil && a.enough(c); {
		case enough:
			least, high = c, at
		case at == len(all)-1:
			return c, nil
		default:
			low = at + 1
		}
	}
	return least, nil
}

// windows looks for larger ones, where their size was given or a key is asked about.
func (a *asking) windows(ctx context.Context) (*Change, error) {
	if len(a.Sizes) == 0 && a.key == nil {
		return nil, nil //nolint:nilnil // they were tried
	}
	var all []Setting
	for _, size := range usual(a.Sample) {
		if size > a.base.Window {
			s := a.given()
			if s.LastAtLeast > 0 { // for as long a time
				s.LastAtLeast = int(max(1, (time.Duration(s.LastAtLeast)*s.Window+size-1)/size))
			}
			s.Window = size
			all = append(all, s)
		}
	}
	return a.least(ctx, all, func(s Setting) string { return "windows of " + config.Duration(s.Window) })
}

func (a *asking) epsilon(ctx context.Context) (*Change, error) {
	var all []Setting
	for times := 2.0; times*a.Given.Epsilon <= greatest && times <= 16; times *= 2 {
		s := a.given()
		s.Epsilon *= times
		all = append(all, s)
	}
	return a.least(ctx, all, func(s Setting) string { return "ε of " + number(s.Epsilon) + ", a weaker promise" })
}

// together counts all events under one key.
func (a *asking) together(ctx context.Context) (*Change, error) {
	if a.key != nil || len(a.Sample.Names) < 2 || a.Metric != "" {
		return nil, nil //nolint:nilnil // no change
	}
	s := a.given()
	s.Together, s.KeysPerUser = true, 1
	return a.least(ctx, []Setting{s}, func(Setting) string { return "all events together, without keys" })
}

// Named is what a sentence calls a key: in quotes if it reads as a number.
func Named(key string) string {
	switch {
	case key == "":
		return "all events"
	case strings.Trim(key, " 0123456789.,:/+-%") == "":
		return `"` + key + `"`
	}
	return key
}

// sentence says what a setting gives.
func (q *Question) sentence(p *Point) string {
	if p.Shown < 0.5 {
		return "nothing would be released"
	}
	what := "the events are"
	if q.kind().Sums() {
		what = "what there is to add up is"
	}
	verb := "are"
	if math.Round(p.Keys) == 1 {
		verb = "is"
	}
	text := fmt.Sprintf("%s; %s of %s %s released; %.3g %% of %s in what comes out; every user can take part for %s", p.TypicalText(), terminal.Number(p.KeysShown, 0),
		terminal.Count(uint64(math.Round(p.Keys)), "key"), verb, 100*p.ShownTruth, what, Lasts(p.Setting))
	if q.Given.LastAtLeast == 0 {
		text += ", and at the bounds no longer: plan took this life from the span of the events, and --last-at-least sets another"
	}
	if lost := p.Lost[len(p.Lost)-1].Share; lost > 0.0005 {
		text += fmt.Sprintf("; %.2g %% of these users are left out before the end", 100*lost)
	}
	return text
}
