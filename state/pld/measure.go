package pld

import (
	"fmt"
	"math"
)

// measure is one direction of a discretised pair: mass[k] is at loss (lo + k·stride)·interval. It
// is immutable.
type measure struct {
	interval     float64
	lo           int
	stride       int // at least 1
	mass         []float64
	infinityMass float64 // upper bound on the probability of an infinite loss
	inherent     float64 // part of infinityMass that no finer grid would remove
	source       *source // nil if the caller has fixed the interval
}

// source contains what is needed to compute a measure with another interval.
type source struct {
	pair      Pair
	direction Direction
	tail      float64 // probability that may be cut off at the top
	limit     int     // maximum number of points
}

// measure discretises the pair.
func (s *source) measure(interval float64) (*measure, error) {
	grid, err := s.pair.extent(s.direction, s.tail).grid(interval, s.limit)
	if err != nil {
		return nil, err
	}
	v, err := Discretize(s.pair, s.direction, grid)
	if err != nil {
		return nil, fmt.Errorf("discretising a %T: %w", s.pair, err)
	}
	m := newMeasure(v)
	m.source = s
	return m, nil
}

// newMeasure returns a measure without the zeros at both ends of v and, if all masses are on a
// coarser lattice, without the zeros in between. If no loss is finite, infinityMass is 1.
func newMeasure(v Vector) *measure {
	m := &measure{
		interval: v.Interval, stride: 1, infinityMass: v.Infinity,
		inherent: max(0, v.Infinity-v.Truncated) * (1 - 0x1p-20),
	}
	first, last, step := -1, -1, 0
	for i, p := range v.Probabilities {
		if p == 0 {
			continue
		}
		if first < 0 {
			first = i
		} else {
			step = gcd(step, i-last)
		}
		last = i
	}
	if first < 0 {
		m.mass, m.infinityMass = []float64{0}, 1
		return m
	}
	m.lo, m.stride = v.Lowest+first, max(1, step)
	m.mass = make([]float64, (last-first)/m.stride+1)
	for k := range m.mass {
		m.mass[k] = v.Probabilities[first+k*m.stride]
	}
	return m
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (m *measure) loss(k int) float64 { return float64(m.lo+k*m.stride) * m.interval }

// logMoment returns an upper bound on ln Σ mass·e^(t·loss), over finite losses.
func (m *measure) logMoment(t float64) float64 {
	largest, maxAbs := math.Inf(-1), 0.0
	for k, p := range m.mass {
		if p > 0 {
			a := float64(t * m.loss(k))
			largest = max(largest, a)
			maxAbs = max(maxAbs, math.Abs(a))
		}
	}
	if math.IsInf(largest, 0) {
		return largest
	}
	sum := 0.0
	for k, p := range m.mass {
		if p > 0 {
			sum += p * math.Exp(float64(t*m.loss(k))-largest)
		}
	}
	value := largest + math.Log(sum)
	return value + float64(len(m.mass)+16)*0x1p-53 + (maxAbs+math.Abs(value)+1)*0x1p-50
}

// summary is a condensed measure for choosing tilts and windows, which affect only tightness.
type summary struct{ loss, logMass []float64 }

// summarise groups adjacent masses such that about half of the points resolve the bulk of the
// distribution, and the other half resolve its range.
func (m *measure) summarise(points int) summary {
	maxGroup := 2*len(m.mass)/points + 1
	enough := 2 / float64(points)
	var s summary
	for from := 0; from < len(m.mass); {
		mass, moment := 0.0, 0.0
		k := from
		for ; k < min(from+maxGroup, len(m.mass)) && (k == from || mass < enough); k++ {
			mass += m.mass[k]
			moment += m.mass[k] * float64(k-from)
		}
		if mass > 0 {
			s.loss = append(s.loss, m.loss(from)+moment/mass*float64(m.stride)*m.interval)
			s.logMass = append(s.logMass, math.Log(mass))
		}
		from = k
	}
	return s
}

// cumulants returns K(t) = ln Σ mass·e^(t·loss) with its first two derivatives.
func (s summary) cumulants(t float64) (k, mean, variance float64) {
	if len(s.loss) == 0 {
		return 0, 0, 0
	}
	largest := math.Inf(-1)
	for i, l := range s.loss {
		largest = max(largest, float64(t*l)+s.logMass[i])
	}
	sum, first, second := 0.0, 0.0, 0.0
	for i, l := range s.loss {
		w := math.Exp(float64(t*l) + s.logMass[i] - largest)
		sum += w
		first += w * l
		second += w * l * l
	}
	mean = first / sum
	return largest + math.Log(sum), mean, max(0, second/sum-mean*mean)
}
