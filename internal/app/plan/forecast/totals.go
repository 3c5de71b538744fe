package forecast

import (
	"math"
)

// totals are the sums of one path, or of several.
type totals struct {
	sum      Means // Error and RelativeError are left 0
	wrong    float64
	of       float64   // what wrong is compared with
	compared float64   // how many values come out that have a real one
	lost     []float64 // by model.after
	ends     []sums    // by model.after: of that window alone
	key      []keySums // by Options.Keys
	beside   []Beside  // by model.statistics
}

// sums are what a relative error is made of.
type sums struct{ wrong, of float64 }

// keySums are sums over the windows of one key in which it has a truth.
type keySums struct{ KeyMeans }

func (k *keySums) add(out *drawn, real float64, within bool) {
	k.Windows++
	k.Truth += real
	k.Bias += real - out.exact
	if !out.Passed {
		return
	}
	k.Shown++
	k.Noise += out.Half
	if out.Met {
		k.Met++
	}
	if within {
		k.Within++
	}
}

// numbers lists all sums, so that paths are added up without naming each.
func (t *totals) numbers() []*float64 {
	s := &t.sum
	all := []*float64{&s.Truth, &s.Kept, &s.Counted, &s.Counts, &s.Shown, &s.ShownTruth, &s.KeysEver, &s.KeysShown, &s.Met, &s.Reach, &s.Typical, &s.Noise, &s.Left, &s.Smooth, &s.Cells, &t.wrong, &t.of, &t.compared}
	for i := range t.lost {
		all = append(all, &t.lost[i], &t.ends[i].wrong, &t.ends[i].of)
	}
	for i := range t.key {
		all = append(all, t.key[i].numbers()...)
	}
	for i := range t.beside {
		all = append(all, &t.beside[i].Typical, &t.beside[i].Noise, &t.beside[i].Left)
	}
	return all
}

func (k *KeyMeans) numbers() []*float64 {
	return []*float64{&k.Windows, &k.Truth, &k.Bias, &k.Noise, &k.Shown, &k.Met, &k.Within}
}

func (m *Means) numbers() []*float64 {
	return []*float64{
		&m.Truth, &m.Kept, &m.Counted, &m.Counts, &m.Shown, &m.ShownTruth, &m.KeysEver, &m.KeysShown, &m.Met, &m.Error, &m.RelativeError, &m.Reach,
		&m.Typical, &m.Noise, &m.Left, &m.Smooth, &m.Cells,
	}
}

// add adds the sums of a path, times a factor.
func (t *totals) add(path *totals, factor float64) {
	to := t.numbers()
	for i, n := range path.numbers() {
		*to[i] += factor * *n
	}
}

// estimate returns the means of totals over so many paths.
func (m *model) estimate(t *totals, paths float64) *Forecast {
	f := &Forecast{Means: t.sum, Keys: make([]Key, len(t.key))}
	for _, n := range f.Means.numbers() {
		*n /= paths
	}
	f.Error, f.RelativeError = ratio(t.wrong, t.compared), ratio(t.wrong, t.of)
	for i, n := range t.lost {
		f.Lost = append(f.Lost, Lost{Window: m.after[i], Users: n / paths, RelativeError: ratio(t.ends[i].wrong, t.ends[i].of)})
	}
	for i, b := range t.beside {
		f.Beside = append(f.Beside, Beside{Of: m.statistics[i].Name, Typical: b.Typical / paths, Noise: b.Noise / paths, Left: b.Left / paths})
	}
	for i := range t.key {
		sums := t.key[i].KeyMeans
		f.Keys[i] = Key{Key: m.options.Keys[i], KeyMeans: KeyMeans{
			Windows: sums.Windows / paths, Truth: ratio(sums.Truth, sums.Windows), Bias: ratio(sums.Bias, sums.Windows),
			Noise: ratio(sums.Noise, sums.Shown), Shown: sums.Shown / paths, Met: sums.Met / paths, Within: sums.Within / paths,
		}}
	}
	return f
}

// ratio is 0 where there is nothing.
func ratio(sum, of float64) float64 {
	if of < 0.5 { // sums of whole numbers, from which others were taken away
		return 0
	}
	return sum / of
}

// expect returns the means over paths. Their standard errors are the jackknife's (Efron, Stein
// 1981): of the estimates without one path each. For a plain mean that is the usual one; ratios of
// means need no formula of their own.
func (m *model) expect(paths []*totals) *Forecast {
	n := float64(len(paths))
	all := &totals{lost: make([]float64, len(m.after)), ends: make([]sums, len(m.after)), key: make([]keySums, len(m.options.Keys)), beside: make([]Beside, len(m.statistics))}
	for _, p := range paths {
		all.add(p, 1)
	}
	f := m.estimate(all, n)
	if len(paths) > 1 {
		without := make([][]*float64, len(paths))
		for i, p := range paths {
			all.add(p, -1)
			without[i] = m.estimate(all, n-1).values()
			all.add(p, 1)
		}
		errors := f.errors()
		for i := range errors {
			mean, squares := 0.0, 0.0
			for _, w := range without {
				mean += *w[i] / n
			}
			for _, w := range without {
				squares += (*w[i] - mean) * (*w[i] - mean)
			}
			*errors[i] = math.Sqrt(squares * (n - 1) / n)
		}
	}
	s := &m.metric.Spec
	f.Windows, f.Threshold = m.w.Len(), m.threshold
	f.FirstSigma, f.TopSigma = 1/math.Sqrt(s.First.Float()), 1/math.Sqrt(s.Top.Float())
	return f
}

// values and errors list the means and their standard errors in the same order.
func (f *Forecast) values() []*float64 {
	all := f.Means.numbers()
	for i := range f.Lost {
		all = append(all, &f.Lost[i].Users)
	}
	for i := range f.Keys {
		all = append(all, f.Keys[i].KeyMeans.numbers()...)
	}
	return all
}

func (f *Forecast) errors() []*float64 {
	all := f.SE.numbers()
	for i := range f.Lost {
		all = append(all, &f.Lost[i].SE)
	}
	for i := range f.Keys {
		all = append(all, f.Keys[i].SE.numbers()...)
	}
	return all
}
