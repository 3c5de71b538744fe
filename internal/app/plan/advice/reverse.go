package advice

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
)

// Reverse is a question the other way round: what a key needs to come out as exactly as asked for.
type Reverse struct {
	Key    string  `json:"key"`
	Window string  `json:"window"`
	Within float64 `json:"within"` // relative error
	Often  float64 `json:"often"`  // share of the key's windows that has to be within it
	// Share is the share of its windows that is within it with the accurate block, made for this
	// error. At Often or more nothing has to change.
	Share float64 `json:"share_of_windows"`
	// Answers are changes of that block, each of which is enough on its own.
	Answers []Change `json:"answers"`
	// Together says what counting all events together would give, where no key comes out.
	Together string `json:"together,omitempty"`
}

// Enough says whether nothing has to change.
func (r *Reverse) Enough() bool { return r.Share >= r.Often }

// Change is a change that is enough.
type Change struct {
	What    string  `json:"change"`
	Share   float64 `json:"share_of_windows"` // within the error, by forecast
	Setting Setting `json:"setting"`
}

const (
	often = 0.9
	// greatest is the ε up to which it is asked whether more of it would help: above, a promise
	// says next to nothing.
	greatest = 20.0
	few      = 3 // paths of noise that show whether looking at all of them is worth it
)

// reverse asks what keys need: that of the question, or the largest and the median one of those
// that come out.
func (q *Question) reverse(ctx context.Context, s *SizeAdvice) ([]Reverse, error) {
	within := cmp.Or(q.Within, q.Target.Relative)
	if within == 0 {
		return nil, nil
	}
	best := &s.Grid[s.best]
	keys := s.windows.Largest(max(1, int(math.Round(best.KeysShown))))
	if k := slices.Index(s.windows.Names, q.Key); q.Key != "" && k >= 0 {
		keys = []uint32{uint32(k)}
	} else if median := keys[len(keys)/2]; median != keys[0] {
		keys = []uint32{keys[0], median}
	} else {
		keys = keys[:1]
	}
	var out []Reverse
	for _, k := range keys {
		a := &asking{Question: q, key: k, base: best.Setting, windows: map[time.Duration]*sample.Windows{s.size: s.windows}, bounds: map[time.Duration][]bounds{}}
		a.base.Relative = within
		r, err := a.answer(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, *r)
	}
	if best.Wrong > hidden && !best.Together {
		var err error
		if out[0].Together, err = q.together(ctx, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// asking is the search for what one key needs.
type asking struct {
	*Question
	key     uint32
	base    Setting
	windows map[time.Duration]*sample.Windows
	bounds  map[time.Duration][]bounds
}

// share returns the share of the key's windows that come out within the error; 0 where a setting
// cannot be.
func (a *asking) share(ctx context.Context, s Setting, paths int) (float64, error) {
	w, err := a.cut(s.Window)
	if err != nil {
		return 0, err
	}
	p, err := a.point(ctx, w, s, []uint32{a.key}, paths)
	if err != nil {
		return 0, ctx.Err()
	}
	k := &p.keys[0]
	return k.Within / max(1, k.Windows), nil
}

func (a *asking) cut(size time.Duration) (*sample.Windows, error) {
	if w, known := a.windows[size]; known {
		return w, nil
	}
	w, err := a.Sample.Windows(size)
	if err == nil {
		a.windows[size] = w
	}
	return w, err
}

// change is one thing that can be changed, by more and more.
type change struct {
	settings []Setting
	text     func(Setting) string
}

func (a *asking) changes() []change {
	var all [3]change
	all[0].text = func(s Setting) string { return fmt.Sprintf("ε of %s or more", number(s.Epsilon)) }
	for epsilon := roundUp(1.02 * a.base.Epsilon); epsilon <= greatest; epsilon = roundUp(1.05 * epsilon) {
		s := a.base
		s.Epsilon = epsilon
		all[0].settings = append(all[0].settings, s)
	}
	all[1].text = func(s Setting) string { return "windows of " + config.Duration(s.Window) }
	for _, times := range []int{2, 3, 4, 6, 8, 12, 24, 48, 7 * 24, 14 * 24, 30 * 24} {
		s := a.base
		s.Window = time.Duration(times) * a.base.Window
		// It has to last for as long a time.
		s.LastAtLeast = (a.base.LastAtLeast + times - 1) / times
		if s.Window.Milliseconds() <= a.Sample.Last-a.Sample.First && a.Sample.Aligned(s.Window) {
			all[1].settings = append(all[1].settings, s)
		}
	}
	all[2].text = func(s Setting) string {
		return fmt.Sprintf("a budget that lasts for %s instead of %s", Lasts(s), Lasts(a.base))
	}
	for last := a.base.LastAtLeast - max(1, a.base.LastAtLeast/10); last >= 1; last -= max(1, last/10) {
		s := a.base
		s.LastAtLeast = last
		all[2].settings = append(all[2].settings, s)
	}
	return all[:]
}

// answer looks for the least change of every kind, and verifies it over all paths of noise.
func (a *asking) answer(ctx context.Context) (*Reverse, error) {
	r := &Reverse{Key: a.windows[a.base.Window].Names[a.key], Window: config.Duration(a.base.Window), Within: a.base.Relative, Often: often}
	var err error
	if r.Share, err = a.share(ctx, a.base, paths); err != nil || r.Enough() {
		return r, err
	}
	bounds, err := a.otherBounds(ctx, a.base)
	if err != nil {
		return nil, err
	}
	for _, c := range a.changes() {
		if len(c.settings) == 0 {
			continue
		}
		found, err := a.least(ctx, c, bounds == nil)
		if err != nil {
			return nil, err
		}
		if found != nil {
			r.Answers = append(r.Answers, *found)
		}
	}
	if bounds != nil {
		bounds.What = boundsText(bounds.Setting)
		r.Answers = append(r.Answers, *bounds)
	}
	return r, nil
}

// least returns the least change of a kind that is enough with the same bounds, or else, where both
// may change, with bounds that suit the greatest change; nil where none is.
func (a *asking) least(ctx context.Context, c change, both bool) (*Change, error) {
	last := c.settings[len(c.settings)-1]
	share, err := a.share(ctx, last, few)
	if err != nil {
		return nil, err
	}
	text := c.text
	if share < often-0.2 && !both {
		return nil, nil
	}
	if share < often-0.2 {
		other, err := a.otherBounds(ctx, last)
		if other == nil || err != nil {
			return nil, err
		}
		c.settings = slices.Clone(c.settings)
		for i := range c.settings {
			c.settings[i].set(other.Setting.bounds())
		}
		text = func(s Setting) string { return c.text(s) + ", with " + boundsText(s) }
	}
	first := sort.Search(len(c.settings)-1, func(i int) bool {
		var share float64
		if err == nil {
			share, err = a.share(ctx, c.settings[i], paths)
		}
		return err != nil || share >= often
	})
	if err != nil {
		return nil, err
	}
	for _, s := range c.settings[first:] { // the first of them, but for noise
		share, err := a.share(ctx, s, paths)
		if err != nil {
			return nil, err
		}
		if share >= often {
			s.WindowText = config.Duration(s.Window)
			return &Change{text(s), share, s}, nil
		}
	}
	return nil, nil
}

// otherBounds returns the setting with the bounds that ask least of a budget and are enough, of
// those that the grid of its windows has; nil where none are.
func (a *asking) otherBounds(ctx context.Context, s Setting) (*Change, error) {
	w, err := a.cut(s.Window)
	if err != nil {
		return nil, err
	}
	if _, known := a.bounds[s.Window]; !known {
		stats := w.Stats()
		var all []bounds
		for _, c := range a.candidates(w, &stats) {
			all = append(all, c.bounds())
		}
		slices.SortFunc(all, func(x, y bounds) int {
			return cmp.Or(cmp.Compare(x.price(), y.price()), cmp.Compare(x.keys, y.keys), cmp.Compare(x.events, y.events))
		})
		a.bounds[s.Window] = slices.Compact(all)
	}
	for _, b := range a.bounds[s.Window] {
		s.set(b)
		share, err := a.share(ctx, s, few)
		if err == nil && share >= often-0.2 {
			share, err = a.share(ctx, s, paths)
		}
		if err != nil {
			return nil, err
		}
		if share >= often {
			s.WindowText = config.Duration(s.Window)
			return &Change{Share: share, Setting: s}, nil
		}
	}
	return nil, nil
}

func boundsText(s Setting) string {
	if s.Min != 0 || s.Max != 0 {
		return fmt.Sprintf("bounds of %s (keys of a user × events of a key, range of values)", BoundsText(s))
	}
	return fmt.Sprintf("bounds of %s (keys of a user × events of a key)", BoundsText(s))
}

// together says what counting all events together would give; "" where that is nothing either.
func (q *Question) together(ctx context.Context, s *SizeAdvice) (string, error) {
	w := s.windows.Together()
	stats := w.Stats()
	var best *Point
	for _, c := range q.candidates(w, &stats) {
		if c.Together, c.KeysPerUser = true, 1; best != nil && c.LastAtLeast != best.LastAtLeast && q.Given.LastAtLeast == 0 && best.Wrong < 0.1 {
			continue
		}
		p, err := q.point(ctx, w, c, []uint32{0}, 1)
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err == nil && (best == nil || better(p, best)) {
			best = p
		}
	}
	if best == nil || best.Wrong > hidden {
		return "", nil
	}
	k := &best.keys[0]
	return fmt.Sprintf("all events together: %.0f of %.0f"+q.unit()+" in a window of %s, ± %s, with up to %d of a user, who can take part for %s", math.Round(k.Truth-k.Bias), math.Round(k.Truth), s.Window, short(k.Noise), best.EventsPerKey, Lasts(best.Setting)), nil
}

// roundUp returns the least number of two digits that is not below v, which is above 0.
func roundUp(v float64) float64 {
	exponent := int(math.Floor(math.Log10(v))) - 1
	digits := math.Ceil(v/math.Pow10(exponent) - 1e-9)
	out, _ := strconv.ParseFloat(fmt.Sprintf("%.0fe%d", digits, exponent), 64) // as it is written
	return out
}
