package advice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Question is what is asked.
type Question struct {
	Terms
	Sample *sample.Sample
	// Sizes of windows; multiples of the step of the sample. Empty:
	// the smallest of Usual that is of use.
	Sizes []time.Duration
	// Given settings are not varied: zero for those that are. Epsilon is always given, and Relative
	// where KeepTarget says so.
	Given      Setting
	KeepTarget bool
	Aim        Aim
	// Useful is the typical error up to which values are of use; 0 is a quarter.
	Useful float64
	Key    string  // asks what this key needs; ""
	Within float64 // relative error that Key is to be within; 0 is that of the target
	// Compile makes a deployment of a setting whose first metric is forecast. An error says that
	// the setting cannot be.
	Compile func(Setting) (*deployment.Deployment, error)
	// Progress is told how many forecasts were made; nil: not.
	Progress func(done int)
}

// Aim is what a recommended setting is best at.
type Aim string

// Aims.
const (
	LeastError  Aim = "error"
	MostKeys    Aim = "keys"
	LongestLife Aim = "lifetime"
)

// Aims are all of them.
func Aims() []Aim { return []Aim{LeastError, MostKeys, LongestLife} }

// Usual are sizes of windows that people ask for.
var Usual = []time.Duration{time.Hour, 6 * time.Hour, day, 7 * day, 30 * day, 90 * day, 365 * day}

const day = 24 * time.Hour

// Point is a setting with what it gives.
type Point struct {
	Setting
	Typical    float64 `json:"typical_error"` // from the real count: forecast.Means has the definition
	Noise      float64 `json:"typical_noise"`
	LeftOut    float64 `json:"typical_left_out"`
	Kept       float64 `json:"kept"`        // share of the truth within the bounds
	Counted    float64 `json:"counted"`     // and of users who could pay
	Counts     float64 `json:"counts"`      // pairs of window and key with a truth
	Shown      float64 `json:"shown"`       // of them, those that come out
	Met        float64 `json:"met"`         // of those, the share that meets the target; 0 without one
	ShownTruth float64 `json:"shown_truth"` // share of the truth of what comes out
	Keys       float64 `json:"keys"`
	KeysShown  float64 `json:"keys_shown"`
	Error      float64 `json:"error"` // of a count that comes out, in events
	FirstSigma float64 `json:"first_sigma"`
	TopSigma   float64 `json:"top_sigma"`
	Threshold  float64 `json:"threshold,omitempty"`
	Lost       []Lost  `json:"users_lost"`
	// Reach is the largest count by the threshold of private keys: below 1 nothing comes out but by
	// chance.
	Reach float64 `json:"reach,omitempty"`

	// Beside are the errors of the statistics that are released beside the metric's own value.
	Beside []Beside `json:"beside,omitempty"`

	kind   metrickind.Kind
	smooth float64
	keys   []forecast.Key
}

// Beside is what is to be expected of a statistic: its typical errors, as in Point.
type Beside struct {
	Of      string  `json:"of"` // the kind of its value
	Typical float64 `json:"typical_error"`
	Noise   float64 `json:"typical_noise"`
	LeftOut float64 `json:"typical_left_out"`
}

// Far returns the statistics beside a point's value whose errors are too large to be useful and
// more than twice that of the value.
func (p *Point) Far() (far []Beside) {
	for _, b := range p.Beside {
		if b.Typical > Useful && b.Typical > 2*p.Typical {
			far = append(far, b)
		}
	}
	return far
}

// Worst is the largest typical error of a point's value and of the statistics beside it.
func (p *Point) Worst() float64 {
	worst := p.Typical
	for _, b := range p.Beside {
		worst = max(worst, b.Typical)
	}
	return worst
}

// Label names the statistic.
func (b *Beside) Label() string { return metrickind.AlsoKind(b.Of).Texts.Label }

// ErrorText writes the typical error of the statistic and its parts.
func (b *Beside) ErrorText() string {
	return fmt.Sprintf("%s (noise %s, %s %s)", percent(b.Typical), percent(b.Noise), leftOut(metrickind.Of(b.Of)), percent(b.LeftOut))
}

// Lost is the share of users who were left out for their budget by the end of a window.
type Lost struct {
	Window int     `json:"window"`
	Share  float64 `json:"share"`
}

// KeyLine is what is to be expected of a key under a setting.
type KeyLine struct {
	Key     string  `json:"key"`
	Windows float64 `json:"windows"`
	Truth   float64 `json:"truth"`    // events a window
	Bias    float64 `json:"bias"`     // of them, those that are not counted
	Noise95 float64 `json:"noise_95"` // half of the interval that is printed
	Shown   float64 `json:"shown"`    // windows
	Within  float64 `json:"within"`   // windows in which the value is within the target of the truth
}

// Advice is the answer.
type Advice struct {
	Trusted    string       `json:"trusted"` // what all this is
	Users      float64      `json:"users"`
	UsersError float64      `json:"users_error_95,omitempty"`
	Rate       float64      `json:"share_of_users_looked_at"`
	Events     uint64       `json:"events"`
	Outside    uint64       `json:"events_outside_range,omitempty"`
	Keys       int          `json:"keys"`
	From       time.Time    `json:"first_event"`
	To         time.Time    `json:"last_event"`
	Sizes      []SizeAdvice `json:"windows"` // the smallest first
	Chosen     string       `json:"chosen_window"`
	// Nothing says, where no setting is of use, that nothing of use can be shown, and why. What
	// could be shown is in Need.
	Nothing string `json:"nothing_of_use,omitempty"`
	Block   Block  `json:"recommended"`
	Need    *Need  `json:"need,omitempty"`
}

// Block is the recommended setting. Its YAML carries no figure and no key of the data.
type Block struct {
	Aim      Aim    `json:"aim"`
	Sentence string `json:"sentence"`       // what it gives, for the trusted side
	YAML     string `json:"yaml"`           // the sections privacy and metrics of a configuration
	Demo     string `json:"demo,omitempty"` // the command that does the same with the file
	Point    Point  `json:"point"`
}

// SizeAdvice is one size of windows: what was tried, and the largest keys under the best of it.
type SizeAdvice struct {
	Window string       `json:"window"`
	Stats  sample.Stats `json:"stats"`
	// Tried are the settings that were tried. The first is the best; it and the next few were
	// forecast again, over all events and with more noise.
	Tried []Point   `json:"tried"`
	Keys  []KeyLine `json:"keys"` // the largest, under the best of them

	search  *search
	windows *sample.Windows
	largest []uint32 // keys
}

// Best returns the best of what was tried.
func (s *SizeAdvice) Best() *Point { return &s.Tried[0] }

var (
	// ErrNothing says that there is nothing to give advice on.
	ErrNothing = errors.New("there are no events to plan with")
	// ErrUnknownKey says that no event, of those that are looked at, has the key of the question.
	ErrUnknownKey = errors.New("no event has this key")
)

const (
	trusted = "made from raw data: not for publication. Settings that were chosen by looking at it are not protected"
	// Useful is the typical error up to which values are of use, where nothing else is asked for.
	Useful = 0.25
	// searched is how many cells a search looks at, of the sample's first users.
	searched = 300_000
	// mostWindows is how many windows are asked for at most where the size is free: more are slow,
	// and can be given.
	mostWindows = 1000
	// mostMeet is the share of values that a target of our own is to be met by.
	mostMeet = 0.5
	// little is by how much scores may differ that count as the same.
	little = 0.005
)

// Answer searches and chooses. Errors: ErrNothing, ErrUnknownKey, that of a sample that cannot be
// cut, that of Compile where no setting can be, or ctx's.
func Answer(ctx context.Context, q Question) (*Advice, error) {
	s := q.Sample
	if s.Events == 0 || s.Kept == 0 {
		return nil, ErrNothing
	}
	if q.Key != "" && !slices.Contains(s.Names, q.Key) {
		return nil, ErrUnknownKey
	}
	q.Useful, q.Aim = cmp.Or(q.Useful, Useful), cmp.Or(q.Aim, LeastError)
	a := &Advice{Trusted: trusted, Users: s.Users, UsersError: s.UsersError, Rate: s.Rate, Events: s.Events, Outside: s.Outside, Keys: len(s.Names),
		From: time.UnixMilli(s.First).UTC(), To: time.UnixMilli(s.Last).UTC()}
	if err := q.sizes(ctx, a); err != nil {
		return nil, err
	}
	chosen := &a.Sizes[q.choose(a.Sizes)]
	if err := q.conclude(ctx, chosen, byError); err != nil {
		return nil, err
	}
	a.Nothing = q.nothing(a.Sizes, chosen.Best())
	if q.Aim != LeastError {
		if err := q.aim(ctx, chosen); err != nil {
			return nil, err
		}
	}
	a.Chosen = chosen.Window
	p := *chosen.Best()
	a.Block = Block{Aim: q.Aim, Sentence: q.sentence(&p), YAML: q.yaml(&p), Point: p}
	if q.Command != nil {
		a.Block.Demo = q.Command(p.Setting)
	}
	var err error
	a.Need, err = q.need(ctx, chosen)
	return a, err
}

// Forecast says what a setting gives.
func (q *Question) Forecast(ctx context.Context, s Setting) (*Point, error) {
	w, err := q.Sample.Windows(s.Window)
	if err != nil {
		return nil, err
	}
	return q.verified(ctx, w, s, nil, telling, toldPaths)
}

// sizes answers for every size of windows; where the size is free from the largest on, as long as
// smaller windows may be of use.
func (q *Question) sizes(ctx context.Context, a *Advice) error {
	sizes, open := slices.Clone(q.Sizes), len(q.Sizes) == 0
	if open {
		sizes = usual(q.Sample)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	thin := q.Sample.Thin(searched)
	least := math.Inf(1)
	for _, size := range slices.Backward(sizes) {
		of, err := q.size(ctx, thin, size)
		if err != nil {
			return err
		}
		a.Sizes = append([]SizeAdvice{*of}, a.Sizes...)
		if least = min(least, of.Best().Typical); open && of.Best().Typical > max(q.Useful, 1.5*least) {
			break // smaller ones have more noise
		}
	}
	return nil
}

// usual returns the sizes to try where none is given: those with at least two windows, one more,
// and none with very many. Where the times of the sample are dates, each window of hours would be
// empty or have a whole day.
func usual(s *sample.Sample) (sizes []time.Duration) {
	span := time.Duration(s.Last-s.First) * time.Millisecond
	for _, size := range Usual {
		if !s.Aligned(size) || s.Dates && size < day {
			continue
		}
		if span/size < mostWindows {
			sizes = append(sizes, size)
		}
		if size > span/2 {
			break
		}
	}
	if sizes == nil {
		sizes = []time.Duration{s.Step}
	}
	return sizes
}

// size searches for the best setting of a size.
func (q *Question) size(ctx context.Context, thin *sample.Sample, size time.Duration) (*SizeAdvice, error) {
	few, err := thin.Windows(size)
	if err != nil {
		return nil, err
	}
	w := few
	if thin != q.Sample {
		if w, err = q.Sample.Windows(size); err != nil {
			return nil, err
		}
	}
	out := &SizeAdvice{Window: config.Duration(size), Stats: w.Stats(), windows: w}
	out.search = newSearch(q, few, &out.Stats)
	if err := out.search.run(ctx, byError, 4); err != nil {
		return nil, err
	}
	return out, q.settle(ctx, out, byError)
}

// settle takes the best of what was tried, after another look at the few best of it: over the whole
// sample, and noise that the search did not see.
func (q *Question) settle(ctx context.Context, s *SizeAdvice, score score) error {
	s.Tried = s.search.points(score)
	k := q.kind()
	largest := s.windows.Largest(10, k.Sums())
	if k := slices.Index(s.windows.Names, q.Key); q.Key != "" && k >= 0 && !slices.Contains(largest, uint32(k)) {
		largest = append(largest, uint32(k))
	}
	for i := range s.Tried[:min(len(s.Tried), finalists)] {
		p, err := q.verified(ctx, s.windows, s.Tried[i].Setting, largest, choosing, mostPaths)
		if err != nil {
			return err
		}
		if s.Tried[i] = *p; i > 0 && better(p, s.Best(), score) {
			s.Tried[0], s.Tried[i] = s.Tried[i], s.Tried[0]
		}
	}
	if err := q.freeTarget(ctx, s, score, largest); err != nil {
		return err
	}
	s.largest = largest
	s.lines()
	return nil
}

// freeTarget leaves out a target that was not asked for and that few values meet, where that makes
// no value less exact: without it no value is said to be less exact than asked.
func (q *Question) freeTarget(ctx context.Context, s *SizeAdvice, score score, keys []uint32) error {
	best := s.Best()
	if q.KeepTarget || best.Relative == 0 && best.Absolute == 0 || best.Shown < 0.5 || best.Met >= mostMeet {
		return nil
	}
	free := best.Setting
	free.Relative, free.Absolute = 0, 0
	p, err := q.verified(ctx, s.windows, free, keys, choosing, mostPaths)
	if err != nil || score(p) > score(best)+little {
		return err
	}
	s.Tried = slices.DeleteFunc(s.Tried, func(t Point) bool { return t.Setting == p.Setting })
	s.Tried = append([]Point{*p}, s.Tried...)
	return nil
}

// conclude gives private keys more of δ where that is better: their threshold falls, and the noise
// of all values grows. It hardly changes which bounds are the best, so it comes last. Then it
// forecasts the best with noise that has not chosen it: the best of several looks better than it
// is.
func (q *Question) conclude(ctx context.Context, s *SizeAdvice, score score) error {
	setting := s.Best().Setting
	if q.Given.DeltaKeys == 0 && q.Metric == "" && q.Keys == "" { // else it is given or fixed by a configuration, or no key is private
		for _, share := range []float64{0.3, 0.5} { // a tenth is usual; above, the threshold rises again
			setting.DeltaKeys = twoDigits(share * q.Delta)
			p, err := q.verified(ctx, s.windows, setting, s.largest, choosing, mostPaths)
			if err != nil {
				return err
			}
			if better(p, s.Best(), score) {
				s.Tried[0] = *p
			}
		}
	}
	p, err := q.verified(ctx, s.windows, s.Best().Setting, s.largest, telling, toldPaths)
	if err != nil {
		return err
	}
	s.Tried[0] = *p
	s.lines()
	return nil
}

// lines says what is to be expected of the largest keys.
func (s *SizeAdvice) lines() {
	s.Keys = nil
	for _, k := range s.Best().keys {
		s.Keys = append(s.Keys, line(s.windows, k))
	}
}

// choose returns the smallest size whose values are of use, or else that with the least error; of
// sizes that were given, that with the least error. Where nothing comes out, it is the size that
// comes closest.
func (q *Question) choose(sizes []SizeAdvice) (best int) {
	for i := range sizes {
		if len(q.Sizes) == 0 && sizes[i].Best().Typical <= q.Useful {
			return i
		}
		if byError(sizes[i].Best()) < byError(sizes[best].Best()) {
			best = i
		}
	}
	return best
}

// aim goes on from the least error of a size to another aim.
func (q *Question) aim(ctx context.Context, s *SizeAdvice) error {
	score := byKeys
	if q.Aim == LongestLife {
		score = byLife(max(q.Useful, 1.25*s.Best().Typical))
	}
	if err := s.search.run(ctx, score, 2); err != nil {
		return err
	}
	if err := q.settle(ctx, s, score); err != nil {
		return err
	}
	return q.conclude(ctx, s, score)
}

func line(w *sample.Windows, k forecast.Key) KeyLine {
	return KeyLine{Key: w.Names[k.Key], Windows: k.Windows, Truth: k.Truth, Bias: k.Bias, Noise95: k.Noise, Shown: k.Shown, Within: k.Within}
}

// TypicalText writes the typical error and its parts.
func (p *Point) TypicalText() string {
	if p.Shown < 0.5 {
		return "nothing comes out"
	}
	return fmt.Sprintf("typically %s from %s: %s", percent(p.Typical), p.Of(), p.parts())
}

// ComparedText writes the typical error of released values, and the forecast of it with its parts.
// It appends of to what the values were compared with: " of amount" after "the real mean", for
// example.
func (p *Point) ComparedText(forecast *Point, of string) string {
	if p.Shown < 0.5 {
		return p.TypicalText()
	}
	return fmt.Sprintf("typically %s from %s%s; the forecast is %s: %s", percent(p.Typical), p.Of(), of, percent(forecast.Typical), forecast.parts())
}

// parts writes the parts of the typical error, and the errors of what stands beside the values.
func (p *Point) parts() string {
	text := fmt.Sprintf("noise %s, %s %s", percent(p.Noise), leftOut(p.kind), percent(p.LeftOut))
	for _, b := range p.Beside {
		text += "; " + b.Label() + " beside it: " + b.ErrorText()
	}
	return text
}

// Of names what the typical error of a point is measured from.
func (p *Point) Of() string { return "the real " + p.kind.One() }

// Vectors says that values have several components: their sizes are numbers of events.
func (p *Point) Vectors() bool { return p.kind.Vector != nil }

// Tree returns the tree in which values are counted, with the kind that the target is of; nil:
// there is none.
func (p *Point) Tree() *metrickind.Tree { return p.kind.Tree }

// Sums says that a value is a total of the values of events.
func (p *Point) Sums() bool { return p.kind.Sums() }

// Span returns from what to what values of the kind, which has several components, go where those
// of events go from low to high.
func (p *Point) Span(low, high float64) (from, to float64) { return p.kind.Vector.Span(low, high) }

// leftOut names what the bounds and the budget take from values.
func leftOut(of metrickind.Kind) string {
	if of.Values && of.Tree == nil { // clamping changes no number of events
		return "events left out or clamped"
	}
	return "events left out"
}

func percent(v float64) string {
	switch {
	case v >= 0.1:
		return fmt.Sprintf("%.0f %%", 100*v)
	case v < 1e-9: // a rounding error of sums
		return "0 %"
	}
	return fmt.Sprintf("%.2g %%", 100*v)
}
