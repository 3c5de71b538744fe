package bucket

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Noise is the individual noise level of a mechanism, which determines its loss.
type Noise struct {
	// Sigma is σ/contribution, above 0. The greater Sigma is, the smaller is the loss. +Inf means
	// no contribution, and costs nothing.
	Sigma float64
}

// Validate returns a *units.RangeError unless Sigma is above 0.
func (n Noise) Validate() error {
	return units.Require(n.Sigma > 0, "sigma", n.Sigma, "above 0; +Inf if nothing is contributed")
}

// NoiseFor returns the individual noise level of a contribution with L2 norm c to a release whose
// noise has standard deviation sigma, rounded down. The error is a *units.RangeError unless sigma
// is above 0 and finite and c is at least 0 and finite.
func NoiseFor(sigma, c float64) (Noise, error) {
	if err := cmp.Or(
		units.Require(sigma > 0 && sigma <= math.MaxFloat64, "sigma", sigma, "above 0 and finite"),
		units.Require(c >= 0 && c <= math.MaxFloat64, "contribution", c, "finite and at least 0"),
	); err != nil {
		return Noise{}, err
	}
	if c == 0 {
		return Noise{Sigma: math.Inf(1)}, nil
	}
	return Noise{Sigma: math.Nextafter(sigma/c, 0)}, nil
}

// Filter is the approximate filter of Koskela, Tobaben and Honkela, Section 5, for one user: it
// accepts mechanisms while the smallest μ that covers everything accepted is at most the budget's
// μ. The comment on Gate states the exact check and promise. Noise below the lowest level of the
// ladder never fits. An update takes a few operations per bucket and order if Σ σ̃^-2 is decisive.
// Otherwise it costs as much as setting a Curve and covering it: time at most proportional to the
// number of points in the table, independent of the history, and less for longer compositions. The
// filters of one Gate must be used by only one goroutine at a time.
//
// Counts are the complete state of a filter, from which ResumeFilter continues.
type Filter struct {
	gate   *Gate
	ladder Ladder
	counts Counts
}

// NewFilter returns the filter of a user who has spent nothing. Bucket i of the gate's table
// belongs to level i of the ladder (Ladder.Pairs). The error is a *units.RangeError.
func NewFilter(g *Gate, l Ladder) (*Filter, error) {
	if g == nil {
		return nil, &units.RangeError{Parameter: "gate", Value: 0, Range: "made by NewGate"}
	}
	return ResumeFilter(g, l, g.table.NewCounts())
}

// ResumeFilter returns the filter of a user with the given counts, which it copies. The counts may
// come from filters of several gates with different budgets over the same table. The promise for
// everything together is then that of a gate with the greatest Mu and the greatest Slack among
// them, because outputs may have chosen which gate refused last, and the slack of one gate adds to
// the δ of another. The error is a *units.RangeError unless table, ladder and counts are of equal
// length.
func ResumeFilter(g *Gate, l Ladder, c Counts) (*Filter, error) {
	if g == nil {
		return nil, &units.RangeError{Parameter: "gate", Value: 0, Range: "made by NewGate"}
	}
	if err := cmp.Or(
		units.Require(l.Len() == g.table.Len(), "levels", float64(l.Len()),
			fmt.Sprintf("%d, one for each bucket of the table", g.table.Len())),
		units.Require(len(c) == g.table.Len(), "buckets", float64(len(c)), "as many as the table has"),
	); err != nil {
		return nil, err
	}
	return &Filter{g, l, append(Counts(nil), c...)}, nil
}

// Fits reports whether Spend would accept n.
func (f *Filter) Fits(n Noise) bool {
	_, err := f.admits(n)
	return err == nil
}

// Spend charges n. The error is accounting.ErrExceeded if n does not fit, or a *units.RangeError.
func (f *Filter) Spend(n Noise) error {
	i, err := f.admits(n)
	if err != nil || i == noBucket {
		return err
	}
	return f.counts.Add(i)
}

// noBucket is returned instead of a bucket for infinite noise, which costs nothing.
const noBucket = -1

// admits returns the bucket for n. It returns the same error as Spend.
func (f *Filter) admits(n Noise) (int, error) {
	if err := n.Validate(); err != nil {
		return 0, err
	}
	if math.IsInf(n.Sigma, 1) {
		return noBucket, nil
	}
	i, err := f.ladder.Bucket(n.Sigma)
	if err != nil {
		return 0, accounting.ErrExceeded
	}
	ok, err := f.gate.Admits(f.counts, i)
	if err == nil && !ok {
		err = accounting.ErrExceeded
	}
	return i, err
}

// Left returns the lowest level of the ladder that still fits, or +Inf if no level fits.
func (f *Filter) Left() Noise {
	i := sort.Search(f.ladder.Len(), func(i int) bool { return f.Fits(Noise{f.ladder.Sigma(i)}) })
	if i == f.ladder.Len() {
		return Noise{Sigma: math.Inf(1)}
	}
	return Noise{Sigma: f.ladder.Sigma(i)}
}

// Spent returns the noise level of one unsampled Gaussian release that covers, up to the slack,
// everything accepted. It is rounded down. It is +Inf if nothing was accepted, and 0 if no covering
// level is known. Spent takes as long as Curve.SmallestMu.
func (f *Filter) Spent() Noise {
	square := f.gate.squareSum(f.counts)
	if square == 0 {
		return Noise{Sigma: math.Inf(1)}
	}
	mu := math.Nextafter(math.Sqrt(square), math.Inf(1))
	if f.gate.curve.Set(f.counts) == nil {
		if covered, err := f.gate.curve.SmallestMu(f.gate.budget.Slack); err == nil {
			mu = min(mu, covered)
		}
		// SmallestMu returns only values on a grid, which may not contain the budget's μ.
		if covered, err := f.gate.curve.CoveredBy(f.gate.budget.Mu, f.gate.budget.Slack); err == nil && covered {
			mu = min(mu, f.gate.budget.Mu)
		}
	}
	return noiseOf(mu)
}

// Budget returns the noise level of one Gaussian release with the gate's μ, rounded up.
func (f *Filter) Budget() Noise { return Noise{Sigma: math.Nextafter(1/f.gate.budget.Mu, math.Inf(1))} }

// noiseOf returns 1/μ, rounded down.
func noiseOf(mu float64) Noise { return Noise{Sigma: math.Nextafter(1/mu, 0)} }

// Counts returns a copy of the counts of accepted mechanisms.
func (f *Filter) Counts() Counts { return append(Counts(nil), f.counts...) }
