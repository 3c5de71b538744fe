package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// metricData is a metric in the page's data block, which page/data.js reads. Times are in Unix
// milliseconds, and counts are in units of 1/1024. Everything in it was released or configured.
type metricData struct {
	Name  string `json:"name"`
	NoKey string `json:"nokey"` // name of the empty key
	Fine  bool   `json:"fine"`  // the values are not counts, so decimals are meaningful
	// Lopsided reports whether values can be much closer to one end of their interval than to the
	// other.
	Lopsided bool `json:"lopsided,omitempty"`
	// Parts are the statistics of a metric that are shown together: ascending quantiles, or the
	// buckets of a histogram in order and then the shares below edges.
	Parts       []partData `json:"parts,omitempty"`
	Targeted    bool       `json:"aims"`  // the metric has, or may have, a target
	TargetText  string     `json:"asked"` // the target, and the values that can meet it; "": unknown
	WindowSize  int64      `json:"size"`
	WindowSlide int64      `json:"slide"`
	First       int64      `json:"first"`           // start of window 0
	Step        int64      `json:"step"`            // distance between the starts of consecutive windows
	Windows     int64      `json:"windows"`         // number of windows, including settled ones without values
	KeyQuantity string     `json:"sized,omitempty"` // quantity that orders keys; "": their values
	Keys        []keyData  `json:"keys"`            // in byte order within each part
}

// partData is a statistic that is shown together with others.
type partData struct {
	Name       string  `json:"name"`               // name of the statistic's metric
	Text       string  `json:"text"`               // text that distinguishes the statistic from the others
	Quantile   float64 `json:"quantile,omitempty"` // rank of a quantile, between 0 and 1
	Edges      []int64 `json:"edges,omitempty"`    // edges of a bucket
	Cumulative bool    `json:"sum,omitempty"`      // whether this is the share of all buckets below the second edge
}

// keyData holds the values of a key, column by column.
type keyData struct {
	Key        string  `json:"key"`
	Part       int     `json:"part,omitempty"` // index of a statistic in the metric's parts
	Size       float64 `json:"size,omitempty"` // size of the key, if the metric has a KeyQuantity
	At         runs    `json:"at"`             // window number of each value, ascending
	Value      []int64 `json:"value"`
	Below      []int64 `json:"below"` // value − low
	Above      []int64 `json:"above"` // high − value
	Sigma      floats  `json:"sigma"`
	Rungs      []int64 `json:"rungs"`
	Missed     runs    `json:"missed"`     // indices, into the columns, of the values that missed the target
	Confidence floats  `json:"confidence"` // runs of equal confidence: each confidence, and its number of values
}

func dataOf(s *series, f metricFacts, sizes sizing, overall summary) metricData {
	m := metricData{
		Name: f.title(), NoKey: metrickind.Together, Targeted: f.targeted(),
		Fine:     !f.known || metrickind.Of(f.Kind).Fine(),
		Lopsided: f.known && metrickind.Of(f.Kind).Statistic != nil, Parts: f.partsData(), KeyQuantity: sizes.quantity,
		WindowSize: s.id.size, WindowSlide: f.WindowSlide, Keys: []keyData{},
	}
	if f.keyed {
		m.NoKey = terminal.EmptyKey
	}
	if text := f.reached(); text != "" {
		m.TargetText = "Target: " + f.wanted() + "; " + text
	}
	m.First, m.Step = s.grid(f.WindowSlide, overall.first)
	m.Windows = (overall.last-s.id.size-m.First)/m.Step + 1
	m.WindowSlide = cmp.Or(m.WindowSlide, m.Step)
	for i := 0; i < len(s.points); {
		end := i + 1
		for end < len(s.points) && s.points[end].key == s.points[i].key {
			end++
		}
		k := columns(s.keys[s.points[i].key], s.points[i:end], m.First, m.Step)
		if s.parts != nil {
			k.Part = s.parts[s.points[i].key]
		}
		k.Size = sizes.keys[k.Key]
		m.Keys = append(m.Keys, k)
		i = end
	}
	return m
}

// partsData returns the statistics that are shown together.
func (f metricFacts) partsData() (parts []partData) {
	texts := f.partTexts()
	for i, spec := range f.parts {
		part := partData{Name: spec.Name, Text: texts[i]}
		if f.ranked() {
			part.Quantile = float64(spec.Max) / metrickind.RankUnit
		} else {
			part.Edges, part.Cumulative = []int64{spec.Min, spec.Max}, i >= f.buckets()
		}
		parts = append(parts, part)
	}
	return parts
}

// grid returns the starts of windows as an arithmetic sequence: first, first + step, and so on.
// first is begin unless older windows were dropped. step is the slide, unless the releases imply
// a different one.
func (s *series) grid(slide, begin int64) (first, step int64) {
	if len(s.points) == 0 {
		return 0, max(slide, 1)
	}
	first = slices.MinFunc(s.points, func(a, b point) int { return cmp.Compare(a.start, b.start) }).start
	if s.dropped.windows == nil {
		first = begin
	}
	step = slide
	for _, p := range s.points {
		for a, b := p.start-first, step; ; a, b = b%a, a {
			if a == 0 {
				step = b
				break
			}
		}
	}
	if step == 0 { // one window, and an unknown slide
		step = max(s.id.size, 1)
	}
	return first, step
}

// columns arranges the points of a key in columns.
func columns(key string, points []point, first, step int64) keyData {
	k := keyData{Key: key, At: runs{}, Missed: runs{}}
	for i, p := range points {
		k.At = k.At.add((p.start - first) / step)
		k.Value, k.Below, k.Above = append(k.Value, p.value), append(k.Below, p.below), append(k.Above, p.above)
		k.Sigma, k.Rungs = append(k.Sigma, p.sigma), append(k.Rungs, int64(p.rungs))
		if !p.met {
			k.Missed = k.Missed.add(int64(i))
		}
		if n := len(k.Confidence); n > 0 && k.Confidence[n-2] == p.confidence {
			k.Confidence[n-1]++
		} else {
			k.Confidence = append(k.Confidence, p.confidence, 1)
		}
	}
	return k
}

// runs encodes ascending numbers as runs of consecutive numbers: the first number and the length of
// each run.
type runs []int64

func (r runs) add(v int64) runs {
	if n := len(r); n > 0 && r[n-2]+r[n-1] == v {
		r[n-1]++
		return r
	}
	return append(r, v, 1)
}

// floats is a column of numbers. They are encoded in JSON with six significant digits.
type floats []float64

// MarshalJSON implements json.Marshaler.
func (f floats) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, v := range f {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendFloat(text, v, 'g', 6, 64)
	}
	return append(text, ']'), nil
}
