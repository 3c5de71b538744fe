package bucket

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"math/bits"

	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// MinPoints and MaxPoints are the limits of the number of points in a table's window.
	MinPoints = 64
	MaxPoints = 1 << 20
)

// Options determines how finely losses are discretised. A zero field means the default.
type Options struct {
	// Interval is the distance between two losses in nats. It is a power of two between
	// pld.MinInterval and pld.MaxInterval. Connecting the dots adds up to Interval²/4 to the
	// variance of every mechanism's loss. Interval should therefore be well below the loss's
	// standard deviation: 1/σ̃ for Gaussian noise, but about q/σ̃ with Poisson sampling. The
	// default is an eighth of the pairs' least deviation (pld.Spread), rounded down to a power of
	// two, but at most 2^-11. It is increased, up to pld.MaxInterval, if a pair would not fit into
	// half of the window. The bounds hold on any grid, but are looser on a coarser grid.
	Interval float64

	// Points is the number of distinct losses, a power of two between MinPoints and MaxPoints. 0
	// means 2^15 or, if Interval is also 0, up to 2^17, so that the window spans 16 nats and twice
	// as much as any pair needs. The window Points·Interval follows the mean of a composition. It
	// must hold every single pair, and should span 20 standard deviations of the largest
	// composition. The defaults suffice for 10^5 mechanisms like the one with the least loss.
	Points int

	// Tail is the probability, between 1e-300 and 0.1, that may be cut off at the top of each
	// mechanism's distribution; 0 means 1e-18. Every mechanism adds Tail to δ.
	Tail float64
}

const (
	coarsestInterval = 0x1p-11 // largest default Interval, unless a pair does not fit
	stepsPerSpread   = 8       // minimum number of default intervals in a standard deviation
	minWindow        = 16      // nats that the fewest default Points span at the coarsest default Interval
	minDefaultPoints = 1 << 15
	maxDefaultPoints = 1 << 17
)

// withDefaults replaces zero fields by defaults and checks the result.
func (o Options) withDefaults(pairs []pld.Pair) (Options, error) {
	o.Tail = cmp.Or(o.Tail, 1e-18)
	defaultInterval := o.Interval == 0
	if defaultInterval {
		o.Interval = intervalFor(pairs)
	}
	defaultPoints := defaultInterval && o.Points == 0
	if o.Points == 0 {
		o.Points = minDefaultPoints
		for defaultPoints && o.Points < maxDefaultPoints && float64(o.Points)*o.Interval < minWindow {
			o.Points *= 2
		}
	}
	if err := o.validate(); err != nil {
		return o, err
	}
	for defaultInterval && o.Interval < pld.MaxInterval && !o.fits(pairs) {
		if defaultPoints && o.Points < maxDefaultPoints {
			o.Points *= 2
		} else {
			o.Interval *= 2
		}
	}
	return o, nil
}

// intervalFor returns the default interval for pairs. It skips invalid pairs: discretize rejects
// them.
func intervalFor(pairs []pld.Pair) float64 {
	interval := coarsestInterval
	for _, p := range pairs {
		if spread, err := pld.Spread(p); err == nil && spread > 0 {
			_, exponent := math.Frexp(spread / stepsPerSpread)
			interval = min(interval, math.Ldexp(0.5, exponent))
		}
	}
	return max(interval, pld.MinInterval)
}

// fits reports whether every valid pair fits into half of the window.
func (o Options) fits(pairs []pld.Pair) bool {
	o.Points /= 2
	for _, p := range pairs {
		if p.Validate() != nil {
			continue
		}
		for _, d := range []pld.Direction{pld.Remove, pld.Add} {
			if _, err := o.cover(p, d); err != nil {
				return false
			}
		}
	}
	return true
}

func (o Options) validate() error {
	if err := (pld.Grid{Interval: o.Interval, Size: 2}).Validate(); err != nil {
		return err
	}
	return cmp.Or(
		units.Require(o.Points >= MinPoints && o.Points <= MaxPoints && bits.OnesCount(uint(o.Points)) == 1, "points",
			float64(o.Points), "0 for the default, or a power of two between 64 and 2^20"),
		units.Require(o.Tail >= 1e-300 && o.Tail <= 0.1, "tail", o.Tail,
			"0 for the default, or between 1e-300 and 0.1"),
	)
}

// Table holds the transforms of a list of dominating pairs, which are the buckets. It is immutable
// and safe for concurrent use. It takes 8 bytes per point and bucket, and twice as much for pairs
// that are not symmetric.
type Table struct {
	options   Options
	circle    *circle
	spectra   [2][]*spectrum    // by pld.Direction; both have the same pointer for a symmetric pair
	symmetric bool              // whether all pairs are symmetric
	digest    [sha256.Size]byte // digest of options and pairs
	// by pair: μ² of a Gaussian pair that covers it without slack, rounded up, or +Inf
	squares []float64
}

// NewTable discretises the pairs and transforms them. The error is a *units.RangeError for an
// invalid option or pair, or a *pld.SizeError if a pair's losses do not fit into the window. That
// is possible only if Interval is given, or if even the greatest interval is too small.
func NewTable(pairs []pld.Pair, o Options) (*Table, error) {
	o, err := o.withDefaults(pairs)
	if err != nil {
		return nil, err
	}
	if len(pairs) == 0 {
		return nil, &units.RangeError{Parameter: "pairs", Value: 0, Range: "at least one"}
	}
	r := newRoots(o.Points)
	t := &Table{options: o, circle: newCircle(r, o.Interval), symmetric: true}
	b := builder{roots: r}
	// The digest depends on the names of types and fields, which a golden file of Filter pins.
	t.digest = sha256.Sum256(fmt.Appendf(nil, "%#v %#v", o, pairs))
	for d := range t.spectra {
		t.spectra[d] = make([]*spectrum, len(pairs))
	}
	for i, p := range pairs {
		t.squares = append(t.squares, squareFor(p))
		remove, err := o.discretize(p, pld.Remove)
		if err != nil {
			return nil, fmt.Errorf("discretising bucket %d: %w", i, err)
		}
		if pld.Symmetric(p) {
			b.transform(remove, &t.spectra[pld.Remove][i], &t.spectra[pld.Add][i])
			continue
		}
		add, err := o.discretize(p, pld.Add)
		if err != nil {
			return nil, fmt.Errorf("discretising bucket %d: %w", i, err)
		}
		t.symmetric = false
		b.transform(remove, &t.spectra[pld.Remove][i])
		b.transform(add, &t.spectra[pld.Add][i])
	}
	b.flush()
	return t, nil
}

// squareFor returns σ^-2 for a Gaussian pair, rounded up. The result is also valid for a sampled
// pair: by convexity, H(q·P + (1−q)·Q‖Q) ≤ q·H(P‖Q), and likewise in the other direction.
func squareFor(p pld.Pair) float64 {
	sigma := 0.0
	switch p := p.(type) {
	case pld.Gaussian:
		sigma = p.Sigma
	case pld.SubsampledGaussian:
		sigma = p.Sigma
	default:
		return math.Inf(1)
	}
	return 1 / (sigma * sigma) * (1 + 8*unit)
}

// discretize returns a pair's distribution on the grid from cover.
func (o Options) discretize(p pld.Pair, d pld.Direction) (pld.Vector, error) {
	grid, err := o.cover(p, d)
	if err != nil {
		return pld.Vector{}, err
	}
	return pld.Discretize(p, d, grid)
}

// cover returns the grid that a pair needs, or an error if the window is too small for it.
func (o Options) cover(p pld.Pair, d pld.Direction) (pld.Grid, error) {
	grid, err := pld.Cover(p, d, o.Interval, o.Tail)
	switch {
	case err != nil:
		return grid, err
	case grid.Size > o.Points:
		return grid, &pld.SizeError{Points: float64(grid.Size), Limit: o.Points, Interval: o.Interval}
	case grid.Lowest < -maxShift || grid.Lowest > maxShift:
		return grid, &units.RangeError{Parameter: "lowest", Value: float64(grid.Lowest),
			Range: "between -2^20 and 2^20"}
	}
	return grid, nil
}

// maxShift and maxTotal limit a count times a lattice shift to 2^51, so that every loss is exact.
const (
	maxShift = 1 << 20
	maxTotal = 1 << 31
)

// Len returns the number of buckets.
func (t *Table) Len() int { return len(t.spectra[0]) }

// Options returns the table's options, with defaults filled in.
func (t *Table) Options() Options { return t.options }

// builder transforms two vectors at a time.
type builder struct {
	roots   roots
	pending pld.Vector
	targets []**spectrum
}

func (b *builder) transform(v pld.Vector, targets ...**spectrum) {
	if b.targets == nil {
		b.pending, b.targets = v, targets
		return
	}
	first, second := newSpectra(b.pending, v, b.roots)
	assign(b.targets, first)
	assign(targets, second)
	b.targets = nil
}

func (b *builder) flush() {
	if b.targets != nil {
		first, _ := newSpectra(b.pending, b.pending, b.roots)
		assign(b.targets, first)
		b.targets = nil
	}
}

func assign(targets []**spectrum, s *spectrum) {
	for _, t := range targets {
		*t = s
	}
}

// Counts is the state of one user: how many mechanisms in each bucket used the user's data.
type Counts []uint32

// NewCounts returns the counts of a user without contributions.
func (t *Table) NewCounts() Counts { return make(Counts, t.Len()) }

// Add counts one more mechanism in the bucket. The error is a *units.RangeError for a bucket that
// does not exist or has been counted 2^32 − 1 times.
func (c Counts) Add(bucket int) error {
	if bucket < 0 || bucket >= len(c) {
		return &units.RangeError{Parameter: "bucket", Value: float64(bucket),
			Range: fmt.Sprintf("between 0 and %d", len(c)-1)}
	}
	if c[bucket] == math.MaxUint32 {
		return &units.RangeError{Parameter: "count", Value: 1 << 32, Range: "below 2^32"}
	}
	c[bucket]++
	return nil
}
