package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// compareValues sets means, variances and quantiles by key over 24 windows beside those of Privacy
// on Beam: of the same made-up events, with public keys. Each value has the whole (ε, δ), for each
// user over all windows; the three quantiles share it.
//
// Privacy on Beam runs as one pipeline whose partitions are pairs of window and key. A call for
// each window never has less noise: W calls for k partitions have, composed exactly, the noise of
// one call for W·k partitions, and one call can have a bound below that.
//
// It divides ε and δ among the parts of a value. A caller who composes the Gaussian noise of the
// parts exactly can give it more: these are the rows "composed by hand". Its quantiles have one
// part, a tree whose levels it composes exactly itself. There the row by hand has its library's
// noise with the best shape of the tree, which its pipeline does not let a caller choose.
//
// The rows "all" have bounds for as much as a user can have in the data, so that neither side
// leaves anything out. The rows "best" have the setting that a search finds for a small median
// error beside real values. The search is the same for both sides: over bounds, the number of
// windows that a budget lasts for, the greatest value, the noise and the target. It sees other
// draws of the noise than the rows.
func compareValues(ctx context.Context, kinds []string) (table, error) {
	silence()
	beam.Init()
	dir, err := os.MkdirTemp("", "peers-*")
	if err != nil {
		return table{}, fmt.Errorf("comparing values: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	c := comparison{ctx: ctx, data: newValueData(), dir: dir}
	c.table = table{
		title: fmt.Sprintf("Values by key over %d windows, of %d events of %d users, (ε, δ) = (%d, %g) for both; errors of %d cells, in %% of the value, for quantiles of the rank",
			valueWindows, c.data.total, valueUsers, epsilon, delta, runs*len(publicCells())),
		columns: []string{"value", "bounds", "by", "setting", "σ of the number", "clipped", "over budget", "median error: clamped", "real", "95th percentile: clamped", "real", "CPU s"},
	}
	for _, kind := range kinds {
		if err := c.compare(kind); err != nil {
			return table{}, fmt.Errorf("comparing %s: %w", kind, err)
		}
	}
	return c.table, nil
}

// runs is how often each setting of the table runs; its figures are of all runs together. Of
// Privacy on Beam the first run is its pipeline, which is slow, and the others are its library.
const runs = 6

// draws is how often the search runs each setting.
const draws = 2

// valueKinds are the kinds of values that are compared.
var valueKinds = []string{"mean", "variance", "quantiles"}

type comparison struct {
	ctx   context.Context
	data  *valueData
	dir   string
	table table
}

// The sides of the table.
const (
	byBeam     = "Privacy on Beam"
	byComposed = "the same, composed by hand"
	byTree     = "its library, tree by hand"
)

// mosts are the greatest values that are tried. The noise of a quantile does not grow with it, but
// 511 makes the tree of this product a level smaller.
var mosts = map[string][]int{"mean": {500, 700, 1000}, "variance": {500, 700, 1000}, "quantiles": {511, 700, 1000, 2000}}

// targets are those of this product that are tried: for quantiles, errors of the rank.
var targets = map[string][]float64{"mean": {0, 20}, "variance": {0, 2000}, "quantiles": {0, 0.02, 0.05, 0.1}}

func (c *comparison) compare(kind string) error {
	for _, equal := range []bool{true, false} {
		if err := c.compareAt(kind, equal); err != nil {
			return err
		}
	}
	return nil
}

// compareAt finds the setting of each side: with bounds that admit all events, or any.
func (c *comparison) compareAt(kind string, equal bool) error {
	admission, pairs := "best", []int{2, 4, 6, 8, 12, 16, 24, 32, 48}
	keys, windows, targets := []int{1, 2}, []int{2, 3, 4, 5, 6, 8, 12, 24}, targets[kind]
	events, mosts := []int{1, 2}, mosts[kind]
	if equal {
		admission, pairs, keys, windows, targets, events = "all", []int{keysAtMost * valueWindows}, []int{keysAtMost}, []int{valueWindows}, []float64{0}, []int{eventsAtMost}
	}
	for _, by := range []string{byBeam, byComposed} {
		noises, trees := []bool{false, true}, []treeShape{{}}
		switch {
		case by == byBeam:
		case kind == "quantiles":
			by, trees = byTree, treeShapes
		default:
			noises = noises[:1]
		}
		at := func(p []int) beamSetting {
			return beamSetting{pairs[p[0]], events[p[1]], mosts[p[2]], noises[p[3]], by == byComposed, trees[p[4]]}
		}
		best, err := search([]int{len(pairs), len(events), len(mosts), len(noises), len(trees)}, func(p []int) (float64, error) {
			return c.objective(kind, at(p).most, func(draw int) (released, error) {
				return at(p).aggregated(c.data, kind, uint64(runs+1+draw))
			})
		})
		if err != nil {
			return err
		}
		if err := c.beam(kind, admission, by, at(best)); err != nil {
			return err
		}
	}
	at := func(p []int) productSetting {
		return productSetting{keys[p[0]], events[p[1]], windows[p[2]], mosts[p[3]], targets[p[4]]}
	}
	best, err := search([]int{len(keys), len(events), len(windows), len(mosts), len(targets)}, func(p []int) (float64, error) {
		return c.objective(kind, at(p).most, func(draw int) (released, error) {
			values, _, err := at(p).run(c.ctx, c.data, c.dir, kind, byte(runs+1+draw))
			if err != nil {
				return nil, fmt.Errorf("%v: %w", at(p), err)
			}
			return values, nil
		})
	})
	if err != nil {
		return err
	}
	return c.product(kind, admission, at(best))
}

// objective returns what the search makes small, over some draws of a setting.
func (c *comparison) objective(kind string, most int, draw func(int) (released, error)) (float64, error) {
	var all cellErrors
	for i := range draws {
		values, err := draw(i)
		if err != nil {
			return 0, err
		}
		all.add(c.errors(kind, most, values))
	}
	return all.objective(), nil
}

// search returns the point with the least error that it finds: it moves one coordinate at a time
// until no move helps, from the middle and from a quarter of the way from each end.
func search(sizes []int, at func(point []int) (float64, error)) (best []int, err error) {
	known := map[string]float64{}
	of := func(p []int) (float64, error) {
		if e, ok := known[fmt.Sprint(p)]; ok {
			return e, nil
		}
		e, err := at(p)
		known[fmt.Sprint(p)] = e
		return e, err
	}
	least := math.Inf(1)
	for _, quarter := range []int{2, 1, 3} {
		point := make([]int, len(sizes))
		for i, n := range sizes {
			point[i] = n * quarter / 4
		}
		e, err := descend(sizes, point, of)
		if err != nil {
			return nil, err
		}
		if e < least {
			least, best = e, point
		}
	}
	return best, nil
}

// descend moves a point until no move of one coordinate helps, and returns the error there.
func descend(sizes, point []int, of func(point []int) (float64, error)) (float64, error) {
	least, err := of(point)
	for moved := true; moved && err == nil; {
		moved = false
		for i, n := range sizes {
			from := slices.Clone(point)
			for j := range n {
				from[i] = j
				e, err := of(from)
				if err != nil {
					return 0, err
				}
				if e < least {
					least, point[i], moved = e, j, true
				}
			}
		}
	}
	return least, err
}

// cellErrors are the errors of cells beside values that are clamped and real ones, by the numbers
// of valueRanks or of one value.
type cellErrors struct{ clamped, real [3][]float64 }

// objective is what the search makes small.
func (e cellErrors) objective() float64 {
	sum := 0.0
	for _, of := range e.real {
		if len(of) > 0 {
			sum += atRank(of, 0.5)
		}
	}
	return sum
}

func atRank(of []float64, rank float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[int(math.Round(rank*float64(len(sorted)-1)))]
}

// errors compares values with the data. A cell without a value is a mistake of this program.
func (c *comparison) errors(kind string, most int, values released) (e cellErrors) {
	for cell, of := range c.data.cells {
		got, there := values[cell]
		if !there {
			continue
		}
		if kind == "quantiles" {
			clamped := slices.Clone(of)
			for i := range clamped {
				clamped[i] = min(clamped[i], float64(most))
			}
			for i, rank := range valueRanks {
				e.clamped[i] = append(e.clamped[i], rankError(clamped, got[i], rank))
				e.real[i] = append(e.real[i], rankError(of, got[i], rank))
			}
			continue
		}
		truth := map[string]func([]float64, float64) float64{"mean": meanOf, "variance": varianceOf}[kind]
		real, clamped := truth(of, math.Inf(1)), truth(of, float64(most))
		e.clamped[0] = append(e.clamped[0], math.Abs(got[0]-clamped)/clamped)
		e.real[0] = append(e.real[0], math.Abs(got[0]-real)/real)
	}
	return e
}

func (e *cellErrors) add(more cellErrors) {
	for i := range e.clamped {
		e.clamped[i], e.real[i] = append(e.clamped[i], more.clamped[i]...), append(e.real[i], more.real[i]...)
	}
}

func (c *comparison) beam(kind, admission, by string, s beamSetting) error {
	var all cellErrors
	_, used := c.data.bounded(s.pairs, s.events, 1)
	cpu := "–"
	for run := range runs {
		var values released
		before, err := cpuTime(), error(nil)
		if run == 0 && kind != "variance" && by != byTree {
			values, err = s.pipeline(c.ctx, c.data, kind)
			cpu = digits((cpuTime() - before).Seconds())
		} else {
			values, err = s.aggregated(c.data, kind, uint64(run+1))
		}
		if err != nil {
			return err
		}
		if len(values) != len(publicCells()) {
			return fmt.Errorf("%s published %d of %d values", by, len(values), len(publicCells()))
		}
		all.add(c.errors(kind, s.most, values))
	}
	return c.row(kind, admission, by, s.String(), s.sigma(kind), c.data.total-used, 0, all, cpu)
}

func (c *comparison) product(kind, admission string, s productSetting) error {
	var all cellErrors
	var tallies pipeline.MetricTallies
	cpu := ""
	for run := range runs {
		before := cpuTime()
		values, of, err := s.run(c.ctx, c.data, c.dir, kind, byte(run+1))
		if err != nil {
			return err
		}
		if len(values) != len(publicCells()) {
			return fmt.Errorf("%s published %d of %d values", product, len(values), len(publicCells()))
		}
		tallies, cpu = of, digits((cpuTime() - before).Seconds())
		all.add(c.errors(kind, s.most, values))
	}
	sigma, err := s.sigma(kind)
	if err != nil {
		return err
	}
	return c.row(kind, admission, product, s.String(), sigma, int(tallies.Clipped), int(tallies.OverBudget), all, cpu)
}

func (c *comparison) row(kind, admission, by, setting string, sigma float64, clipped, over int, e cellErrors, cpu string) error {
	share := func(n int) string { return tenths(float64(n) / float64(c.data.total)) }
	names := []string{kind}
	if kind == "quantiles" {
		names = nil
		for _, rank := range valueRanks {
			names = append(names, fmt.Sprintf("p%.0f", 100*rank))
		}
	}
	for i, name := range names {
		c.table.rows = append(c.table.rows, []any{name, admission, by, setting, sigma, share(clipped), share(over),
			tenths(atRank(e.clamped[i], 0.5)), tenths(atRank(e.real[i], 0.5)), tenths(atRank(e.clamped[i], 0.95)), tenths(atRank(e.real[i], 0.95)), cpu})
	}
	return nil
}
