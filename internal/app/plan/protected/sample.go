package protected

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
)

// visible is from how many deviations of the noise on a number is taken for more than noise.
const visible = 3

// visibleValue is the same for rows of values, of which there are many, most of them empty: one
// that is not there would widen the range.
const visibleValue = 4

// Individuals returns the estimate of how many there are, from both tables that everybody is in
// once, with its deviation.
func (r *Release) Individuals() (n, deviation float64) {
	sum := func(v []float64) (s float64) {
		for _, x := range v {
			s += x
		}
		return s
	}
	a, b := 0.0, sum(r.Windows)
	for _, line := range r.Shape {
		a += sum(line)
	}
	va := r.ShapeSigma * r.ShapeSigma * float64(len(keyRows)*len(eventRows))
	vb := r.WindowsSigma * r.WindowsSigma * float64(len(windowRows))
	return (a/va + b/vb) / (1/va + 1/vb), 1 / math.Sqrt(1/va+1/vb)
}

// Suffices says whether the tables show more than noise: enough individuals to choose by.
func (r *Release) Suffices() bool {
	n, deviation := r.Individuals()
	most := 0.0
	for _, line := range r.Shape {
		most = max(most, slices.Max(line))
	}
	return n >= 5*deviation && most >= visible*r.ShapeSigma && slices.Max(r.Windows) >= visible*r.WindowsSigma &&
		(r.Values == nil || slices.Max(r.Values) >= visibleValue*r.ValuesSigma)
}

// likely is a number that individuals have, and how many.
type likely struct {
	keys, events, windows, weight float64
	value                         int64
}

// middle returns what stands for a row: its only number, or the middle of its range.
func middle(rows []int, i int) float64 {
	if i == 0 || rows[i] == rows[i-1]+1 {
		return float64(rows[i])
	}
	return math.Sqrt(float64(rows[i-1]+1) * float64(rows[i]))
}

// shapes returns the visible cells of the first table, those of the second, and those of values.
func (r *Release) shapes() (shape, windows, values []likely) {
	for i, line := range r.Shape {
		for j, n := range line {
			if n >= visible*r.ShapeSigma {
				shape = append(shape, likely{keys: middle(keyRows, i), events: middle(eventRows, j), weight: n})
			}
		}
	}
	for i, n := range r.Windows {
		if n >= visible*r.WindowsSigma {
			windows = append(windows, likely{windows: middle(windowRows, i), weight: n})
		}
	}
	for i, n := range r.Values {
		if n >= visibleValue*r.ValuesSigma {
			values = append(values, likely{value: valueOf(i), weight: n})
		}
	}
	return shape, windows, values
}

// Limits of what is made up.
const (
	mostMadeUp = 30_000 // individuals
	mostDone   = 2_000_000
	mostTail   = 5_000 // keys that did not come out
)

// Sample makes up events of which the tables could be: what follows from it is protected as they
// are. It is the same for the same release. Only a release that suffices has one.
func (r *Release) Sample() (*sample.Sample, error) {
	if !r.Suffices() {
		return nil, fmt.Errorf("making up events: %w", ErrTooLittle)
	}
	shape, windows, values := r.shapes()
	n, _ := r.Individuals()
	done := 0.0 // cells of an individual, as a mean
	for _, s := range shape {
		done += s.weight * s.keys / total(shape)
	}
	active := 0.0
	for _, w := range windows {
		active += w.weight * w.windows / total(windows)
	}
	made := int(math.Ceil(min(n, mostMadeUp, mostDone/(done*active))))
	first, count := r.span(windows)
	random := rand.New(rand.NewPCG(binary.BigEndian.Uint64(r.ID[:]), binary.BigEndian.Uint64(r.ID[8:])))
	keys := r.popular(n, shape, windows)
	size := r.o.Window.Milliseconds()
	// Larger windows may begin before the events and end after them, but not outside of an end that
	// was given: they would count events that the choice does not know.
	o := sample.Options{Step: r.o.Window, Values: r.o.Values}
	if r.o.From != 0 {
		o.From = sample.Floor(r.o.From, size) * size
	}
	if r.o.To != 0 {
		o.To = (sample.Floor(r.o.To-1, size) + 1) * size
	}
	c := sample.NewCollector(o)
	for u := range made {
		id := fmt.Append(nil, u)
		does, takes, value := pick(random, shape), pick(random, windows), int64(0)
		if r.o.Values {
			value = pick(random, values).value
		}
		for _, w := range some(random, int(count), int(math.Round(takes.windows))) {
			for _, k := range keys.some(random, int(math.Round(does.keys))) {
				c.AddN(id, []byte(keys.names[k]), (first+int64(w))*size, value, uint32(math.Round(does.events)))
			}
		}
	}
	s := c.Sample()
	s.Rate, s.Users = float64(made)/n, n
	s.Events = uint64(float64(s.Events) / s.Rate)
	return s, nil
}

// span returns the first window, and how many there are: by the range where both of its ends are
// given, else as many as individuals take part in, from its beginning or
// up to its end.
func (r *Release) span(windows []likely) (first, count int64) {
	if count = r.o.windows(); count > 0 {
		return sample.Floor(r.o.From, r.o.Window.Milliseconds()), count
	}
	size := r.o.Window.Milliseconds()
	most := 1.0
	for _, w := range windows {
		most = max(most, w.windows)
	}
	count = int64(most)
	switch {
	case r.o.From != 0:
		return sample.Floor(r.o.From, size), count
	case r.o.To != 0:
		return max(0, sample.Floor(r.o.To-1, size)-count+1), count // no event counts before 1970
	}
	return sample.Floor(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), size), count
}

// windows returns how many windows an individual can take part in: those of the range of times.
// It is 0 if the range has no beginning or no end.
func (o *Options) windows() int64 {
	if o.From == 0 || o.To == 0 {
		return 0
	}
	size := o.Window.Milliseconds()
	return max(1, sample.Floor(o.To-1, size)-sample.Floor(o.From, size)+1)
}

func total(of []likely) (sum float64) {
	for _, l := range of {
		sum += l.weight
	}
	return sum
}

func pick(random *rand.Rand, of []likely) likely {
	at := random.Float64() * total(of)
	for _, l := range of {
		if at -= l.weight; at < 0 {
			return l
		}
	}
	return of[len(of)-1]
}

// some returns k different numbers below n, or all of them.
func some(random *rand.Rand, n, k int) []int {
	if k >= n {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	if k > n/3 {
		return random.Perm(n)[:k]
	}
	seen := make(map[int]bool, k)
	out := make([]int, 0, k)
	for len(out) < k {
		if i := random.IntN(n); !seen[i] {
			seen[i] = true
			out = append(out, i)
		}
	}
	return out
}

// popular are keys with how likely they are.
type popular struct {
	names []string
	sums  []float64 // of weights up to each
}

func (p *popular) add(name string, weight float64) {
	before := 0.0
	if len(p.sums) > 0 {
		before = p.sums[len(p.sums)-1]
	}
	p.names, p.sums = append(p.names, name), append(p.sums, before+weight)
}

// some returns k different keys, the likelier ones more often.
func (p *popular) some(random *rand.Rand, k int) []int {
	k = min(k, len(p.names))
	seen := make(map[int]bool, k)
	out := make([]int, 0, k)
	for tries := 0; len(out) < k && tries < 20*k; tries++ {
		at := random.Float64() * p.sums[len(p.sums)-1]
		i := min(sort.SearchFloat64s(p.sums, at), len(p.names)-1)
		if !seen[i] {
			seen[i] = true
			out = append(out, i)
		}
	}
	return out
}

// popular returns the keys that came out, and as many as may be below the threshold; public keys as
// likely as each other, because nothing was asked of them.
func (r *Release) popular(n float64, shape, windows []likely) *popular {
	p := &popular{}
	for _, k := range r.o.PublicKeys {
		p.add(k, 1)
	}
	if r.o.PublicKeys != nil {
		return p
	}
	// How often individuals stand in the table of keys: at most MostKeys times, and as often as
	// they have keys.
	votes := 0.0
	for _, s := range shape {
		votes += s.weight / total(shape) * n * min(MostKeys, s.keys)
	}
	for _, k := range r.Keys {
		p.add(k.Name, max(1, k.Individuals))
		votes -= k.Individuals
	}
	each := max(1, r.KeysThreshold/3)
	for i := range int(min(mostTail, max(0, votes)/each)) {
		p.add(fmt.Sprintf("(below the threshold %d)", i+1), each)
	}
	if len(p.names) == 0 {
		p.add("(below the threshold)", 1)
	}
	return p
}
