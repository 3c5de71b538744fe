package main

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/google/differential-privacy/go/v3/dpagg"
	"github.com/google/differential-privacy/go/v3/noise"
	"github.com/google/differential-privacy/privacy-on-beam/v3/pbeam"
)

// valueRanks are the quantiles that are compared.
var valueRanks = []float64{0.5, 0.95, 0.99}

// bought are the events for the DoFns, which run in this process; got is what came out by cell.
var bought *valueData

type valued struct {
	Cell  string
	Value float64
}

func init() {
	register.DoFn2x0[[]byte, func(string, valued)](&boughtFn{})
	register.Emitter2[string, valued]()
	register.Function1x2(cellAndValue)
	register.DoFn2x0[string, float64](&oneFn{})
	register.DoFn2x0[string, []float64](&severalFn{})
}

// boughtFn emits every event's user, and its cell and value together.
type boughtFn struct{}

// ProcessElement implements Beam's DoFn.
func (*boughtFn) ProcessElement(_ []byte, emit func(string, valued)) {
	for _, e := range bought.events {
		emit(e.User, valued{partitionOf(e), float64(e.Value)})
	}
}

func cellAndValue(v valued) (string, float64) { return v.Cell, v.Value }

// oneFn and severalFn collect the values of cells, the latter by the numbers of valueRanks.
type oneFn struct{}

// ProcessElement implements Beam's DoFn.
func (*oneFn) ProcessElement(cell string, value float64) { collect(count{key: cell, value: value}) }

type severalFn struct{}

// ProcessElement implements Beam's DoFn.
func (*severalFn) ProcessElement(cell string, values []float64) {
	for i, v := range values {
		collect(count{window: i, key: cell, value: v})
	}
}

// beamSetting is a setting of Privacy on Beam.
type beamSetting struct {
	pairs, events int // of a user, and of such a pair of window and key
	most          int // values are clamped to from 0 to this
	laplace       bool
	// composed makes the parts of a value fit the promise by the exact composition of Gaussian
	// noise, which the caller works out; else Privacy on Beam divides ε and δ among them.
	composed bool
	tree     treeShape // of quantiles
}

// treeShape is that of the tree of quantiles; zero: the usual one, the only one of the pipeline.
type treeShape struct{ height, branching int }

// treeShapes have at least 256 leaves.
var treeShapes = []treeShape{{8, 2}, {10, 2}, {4, 4}, {5, 4}, {6, 4}, {3, 8}, {4, 8}, {2, 16}, {3, 16}, {4, 16}, {2, 32}, {1, 256}, {1, 1024}}

func (s beamSetting) String() string {
	text := fmt.Sprintf("%d pairs × %d, to %d", s.pairs, s.events, s.most)
	if s.tree != (treeShape{}) {
		text += fmt.Sprintf(", %d levels of %d", s.tree.height, s.tree.branching)
	}
	if s.laplace {
		return text + ", Laplace"
	}
	return text + ", Gaussian"
}

// parts is how many noisy numbers a value of a kind consists of.
func parts(kind string) float64 {
	return map[string]float64{"mean": 2, "variance": 3, "quantiles": 1}[kind]
}

// promise returns the ε and δ that Privacy on Beam is given for a value of a kind.
func (s beamSetting) promise(kind string) (eps, del float64) {
	switch {
	case s.laplace:
		return epsilon, 0
	case !s.composed:
		return epsilon, delta
	}
	// The parts have equal noise, so that the deviation of each is √parts times that of one under
	// the whole promise. Privacy on Beam takes (ε, δ): with a small δ, the ε that gives this
	// noise.
	n := parts(kind)
	want := math.Sqrt(n) * noise.SigmaForGaussian(1, 1, epsilon, delta)
	low, high := 0.0, 10.0*n
	for range 60 {
		if middle := (low + high) / 2; noise.SigmaForGaussian(1, 1, middle/n, delta/1000/n) > want {
			low = middle
		} else {
			high = middle
		}
	}
	return high, delta / 1000
}

func (s beamSetting) noise() (noise.Noise, pbeam.NoiseKind) {
	if s.laplace {
		return noise.Laplace(), pbeam.LaplaceNoise{}
	}
	return noise.Gaussian(), pbeam.GaussianNoise{}
}

// sigma is the standard deviation of the noise of a cell's number of events; of quantiles, of a
// node of their tree.
func (s beamSetting) sigma(kind string) float64 {
	eps, del := s.promise(kind)
	n, pairs, events := parts(kind), int64(s.pairs), float64(s.events)
	if kind == "quantiles" {
		pairs *= int64(cmp.Or(s.tree.height, dpagg.DefaultTreeHeight))
	}
	if s.laplace {
		return math.Sqrt2 * float64(pairs) * events * n / eps
	}
	return noise.SigmaForGaussian(pairs, events, eps/n, del/n)
}

// released are values by cell: one, or one for each of valueRanks.
type released map[string][]float64

// aggregated computes what Privacy on Beam's pipeline computes, with the same library and without
// Beam: for the search, and for variances, which version 3.0.0 has in its library only
// (VariancePerKey is newer). seed draws what bounds leave.
func (s beamSetting) aggregated(d *valueData, kind string, seed uint64) (released, error) {
	cells, _ := d.bounded(s.pairs, s.events, seed)
	eps, del := s.promise(kind)
	n, _ := s.noise()
	out := released{}
	for _, cell := range publicCells() {
		values, err := aggregate(kind, cells[cell], s, eps, del, n)
		if err != nil {
			return nil, err
		}
		out[cell] = values
	}
	return out, nil
}

func aggregate(kind string, values []float64, s beamSetting, eps, del float64, n noise.Noise) ([]float64, error) {
	var add func(float64) error
	var result func() (float64, error)
	pairs, events, most := int64(s.pairs), int64(s.events), float64(s.most)
	switch kind {
	case "mean":
		m, err := dpagg.NewBoundedMean(&dpagg.BoundedMeanOptions{
			Epsilon: eps, Delta: del, MaxPartitionsContributed: pairs, MaxContributionsPerPartition: events, Upper: most, Noise: n})
		if err != nil {
			return nil, err
		}
		add, result = m.Add, m.Result
	case "variance":
		v, err := dpagg.NewBoundedVariance(&dpagg.BoundedVarianceOptions{
			Epsilon: eps, Delta: del, MaxPartitionsContributed: pairs, MaxContributionsPerPartition: events, Upper: most, Noise: n})
		if err != nil {
			return nil, err
		}
		add, result = v.Add, v.Result
	default:
		q, err := dpagg.NewBoundedQuantiles(&dpagg.BoundedQuantilesOptions{
			Epsilon: eps, Delta: del, MaxPartitionsContributed: pairs, MaxContributionsPerPartition: events, Upper: most, Noise: n,
			TreeHeight: s.tree.height, BranchingFactor: s.tree.branching})
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			if err := q.Add(v); err != nil {
				return nil, err
			}
		}
		var out []float64
		for _, rank := range valueRanks {
			v, err := q.Result(rank)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}
	for _, v := range values {
		if err := add(v); err != nil {
			return nil, err
		}
	}
	v, err := result()
	return []float64{v}, err
}

// pipeline computes values with Privacy on Beam itself: one pipeline over all windows, whose
// partitions are pairs of window and key.
func (s beamSetting) pipeline(ctx context.Context, d *valueData, kind string) (released, error) {
	eps, del := s.promise(kind)
	spec, err := pbeam.NewPrivacySpec(pbeam.PrivacySpecParams{AggregationEpsilon: eps, AggregationDelta: del})
	if err != nil {
		return nil, err
	}
	_, n := s.noise()
	p, scope := beam.NewPipelineWithRoot()
	bought, collected.counts = d, nil
	events := beam.ParDo(scope, &boughtFn{}, beam.Impulse(scope))
	private := pbeam.ParDo(scope, cellAndValue, pbeam.MakePrivate(scope, events, spec))
	if kind == "mean" {
		beam.ParDo0(scope, &oneFn{}, pbeam.MeanPerKey(scope, private, pbeam.MeanParams{
			NoiseKind: n, PublicPartitions: publicCells(), MaxPartitionsContributed: int64(s.pairs), MaxContributionsPerPartition: int64(s.events), MaxValue: float64(s.most),
		}))
	} else {
		beam.ParDo0(scope, &severalFn{}, pbeam.QuantilesPerKey(scope, private, pbeam.QuantilesParams{
			NoiseKind: n, PublicPartitions: publicCells(), MaxPartitionsContributed: int64(s.pairs), MaxContributionsPerPartition: int64(s.events), MaxValue: float64(s.most),
			Ranks: valueRanks,
		}))
	}
	if err := runDirect(ctx, p); err != nil {
		return nil, err
	}
	out := released{}
	for _, c := range collected.counts {
		if len(out[c.key]) == 0 {
			out[c.key] = make([]float64, len(valueRanks))
		}
		out[c.key][c.window] = c.value
	}
	return out, nil
}
