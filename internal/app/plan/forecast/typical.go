package forecast

import (
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Cells are what the errors of settings that differ in bounds, budget and target alone are
// measured by. A cell is a key in a window.
type Cells struct {
	// Half is the least size of the cells that hold half of what there is to count: the largest
	// ones count until they hold half, with all that are as large as the last of them. +Inf where
	// there is nothing to count.
	Half    float64
	spread  spread           // of the values; zero where no value or statistic has several components
	parents map[uint32]nodes // of tree; nil where there are no trees
}

// Measure returns the Cells of windows. Errors: those of Of.
func Measure(w *sample.Windows, d *deployment.Deployment) (*Cells, error) {
	m, err := newModel(w, d, Options{Cells: &Cells{}})
	if err != nil {
		return nil, err
	}
	return m.measure(), nil
}

func (m *model) measure() *Cells {
	var sizes []float64
	var values []sample.Cell
	truth, seen := make([]float64, m.keys), []uint32{}
	for window := range m.w.Len() {
		for rest := m.w.At(window); len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Key == rest[0].Key && rest[n].User == rest[0].User {
				n++
			}
			key := rest[0].Key
			if m.taken == nil || m.taken[key] {
				if truth[key] == 0 {
					seen = append(seen, key)
				}
				truth[key] += m.whole(rest[:n])[0]
				if m.powered() || m.tree != nil {
					values = append(values, rest[:n]...)
				}
			}
			rest = rest[n:]
		}
		for _, k := range seen {
			sizes = append(sizes, math.Abs(truth[k])/m.w.Rate)
			truth[k] = 0
		}
		seen = seen[:0]
	}
	c := &Cells{Half: LeastOfHalf(sizes)}
	if m.tree != nil {
		c.parents = m.tree.measure(values)
	}
	if m.powered() {
		c.spread = spreadOf(values)
	}
	return c
}

// LeastOfHalf returns the least of the numbers that make up half of their sum, the largest first;
// +Inf where all are 0. It sorts them.
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

// typical keeps how far a cell is from its real value, where it is one of those that hold half.
func (p *path) typical(out *drawn, truth, counted amount) {
	if math.Abs(truth[0]) < p.half*(1-1e-9) {
		return
	}
	value, _ := p.real(truth)
	p.value.add(out.Passed, out.value, out.exact, value, p.yardstick(truth))
	for i := range p.statistics {
		p.statistics[i].error(&p.others[i], out, p.bounds, truth, counted)
	}
}

// Median sorts; it is 0 of nothing, and of an even number the mean of the two in the middle.
func Median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// TypicalError is Means.Typical of values that were released, beside the real ones: a cell without
// a value counts as 1. cells is how many hold half of the events.
func TypicalError[K comparable](real map[K]Real, values map[K]float64) (typical float64, cells int) {
	var sizes, errors []float64
	for _, of := range real {
		sizes = append(sizes, of.Size)
	}
	half := LeastOfHalf(sizes)
	for at, of := range real {
		if of.Size < half {
			continue
		}
		e := 1.0
		if v, released := values[at]; released {
			e = math.Abs(v-of.Value) / of.Scale
		}
		errors = append(errors, e)
	}
	return Median(errors), len(errors)
}
