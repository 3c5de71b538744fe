package filters

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// The setting of Figure 1: noise σ·C on 200 batches per epoch. Each of 60,000 users is in a batch
// with probability 300/60,000.
const (
	noise, clip     = 2, 5
	sampling        = 300.0 / 60_000
	epochs, batches = 50, 200
	userDelta       = 1e-6
	leastNorm       = clip / 256.0 // smaller norms are rounded up to this
)

// sizes holds the numbers that determine the extent of the computation.
type sizes struct {
	users, levels, divergences, points int
	interval                           float64
}

func users(ctx context.Context, o experiment.Options) (*experiment.Result, error) {
	z := sizes{users: 1000, levels: 192, divergences: 560, points: 1 << 17, interval: 0x1p-15}
	if o.Size == experiment.Small {
		z = sizes{users: 24, levels: 48, divergences: 140, points: 1 << 14, interval: 0x1p-11}
	}
	ladder := experiment.Must(bucket.NewGeometricLadder(noise, noise*clip/leastNorm, z.levels))
	o.ReportProgress(0, z.users, "transforming a grid of noise levels")
	grid := bucket.Options{Interval: z.interval, Points: z.points}
	table := experiment.Must(bucket.NewTable(experiment.Must(ladder.Pairs(sampling)), grid))
	o.ReportProgress(0, z.users, "Rényi divergences of a finer grid")
	fine, err := newDivergences(z.divergences)
	if err != nil {
		return nil, err
	}
	all := make([]spent, z.users)
	for i := range all {
		all[i].sigmas = sigmasOf(o.Random("norms", i))
	}
	if err := account(ctx, o, ladder, table, fine, all); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b spent) int { return cmp.Compare(a.byPLD, b.byPLD) })
	quantiles := experiment.Table{
		Title: "Figure 1, right: ε of single users after 50 epochs, δ = 1e-6",
		Columns: append([]experiment.Column{{Name: "users below"}}, experiment.Columns(4, "by PLD", "by RDP",
			"PLD over RDP")...),
		Note: "The paper shows histograms for gradients of MNIST; the gradients here are made up. By both methods, a " +
			"user has the largest ε if every gradient is clipped.",
	}
	for _, q := range []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 1} {
		u := all[min(int(q*float64(len(all))), len(all)-1)]
		quantiles.Rows = append(quantiles.Rows, []any{map[bool]string{true: "all", false: percent(q)}[q == 1], u.byPLD,
			u.byRDP, u.byPLD / u.byRDP})
	}
	above, curves := 0, experiment.Figure{Title: "Figure 1, right: ε of users, in order", X: "user", Y: "ε"}
	pld, rdp := experiment.Series{Name: "by privacy loss distributions"},
		experiment.Series{Name: "by Rényi divergences"}
	for i, u := range all {
		if u.byPLD > u.byRDP {
			above++
		}
		pld.Add(float64(i+1), u.byPLD)
		rdp.Add(float64(i+1), u.byRDP)
	}
	curves.Series = []experiment.Series{pld, rdp}
	below := experiment.Table{
		Title:   "Users whose ε by PLD is at most their ε by RDP",
		Columns: []experiment.Column{{Name: ""}, {Name: "paper"}, {Name: "measured"}},
		Rows:    [][]any{{"users", "all", len(all) - above}, {"of", nil, len(all)}},
	}
	cover, figure, err := coverOf(table, all[len(all)/2])
	if err != nil {
		return nil, err
	}
	return &experiment.Result{
		Tables: []experiment.Table{quantiles, below, cover}, Figures: []experiment.Figure{curves, figure},
		Notes: []string{
			"An individual ε depends on the user's data, so it must not be published.",
			"Noise levels are rounded down to a grid, so that the computation is cheap even for many users (Appendix " +
				"D): the ε by distributions is an upper bound. For Rényi divergences, noise levels are rounded up to " +
				"a grid of 1%, so that the ε by RDP is, if anything, too low.",
		},
	}, nil
}

func percent(q float64) string { return experiment.Column{}.Format(100*q) + "%" }

// spent holds the cost of a user's gradients.
type spent struct {
	sigmas       [epochs]float64 // σ·C over the user's norm, by epoch
	counts       bucket.Counts
	byPLD, byRDP float64
}

// sigmasOf generates the noise levels of one user. The norms of the user's gradients shrink as the
// model learns, for some users faster than for others. Norms are clipped.
func sigmasOf(random *rand.Rand) (sigmas [epochs]float64) {
	first := 3 * math.Exp(0.8*random.NormFloat64())
	lasts := 10 * math.Exp(0.6*random.NormFloat64())
	rest := 0.2 * random.ExpFloat64()
	for e := range sigmas {
		norm := first * (rest + math.Exp(-float64(e)/lasts)) * math.Exp(0.2*random.NormFloat64())
		sigmas[e] = noise * clip / min(max(norm, leastNorm), clip)
	}
	return sigmas
}

// divergences holds the Rényi divergences of one batch for a grid of noise levels.
type divergences struct {
	orders []float64
	ladder bucket.Ladder
	levels []loss.RDP
}

// newDivergences computes the divergences for a number of levels. With 560 levels, neighbouring
// levels differ by 1%.
func newDivergences(levels int) (*divergences, error) {
	d := &divergences{ladder: experiment.Must(bucket.NewGeometricLadder(noise, noise*clip/leastNorm, levels))}
	// The best orders for users with the smallest losses are in the thousands.
	for order := 2.0; order <= conversion.MaxSampledOrder; order = math.Ceil(order * 1.08) {
		d.orders = append(d.orders, order)
	}
	d.levels = make([]loss.RDP, d.ladder.Len())
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i := range d.levels {
		all.Go(func() (err error) {
			d.levels[i], err = conversion.SampledGaussianToRDP(d.ladder.Sigma(i), sampling, d.orders)
			return err //nolint:wrapcheck // the caller names the experiment
		})
	}
	return d, all.Wait() //nolint:wrapcheck // the caller adds the name of the experiment
}

// above returns the divergences of the next level at or above sigma. They are lower than sigma's,
// so that the comparison favours divergences over distributions.
func (d *divergences) above(sigma float64) (loss.RDP, error) {
	level, err := d.ladder.Bucket(sigma)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the experiment
	}
	if d.ladder.Sigma(level) < sigma {
		level = min(level+1, len(d.levels)-1)
	}
	return d.levels[level], nil
}

// account computes the ε of all users by both methods, concurrently.
func account(ctx context.Context, o experiment.Options, ladder bucket.Ladder, table *bucket.Table, fine *divergences,
	all []spent) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	var progress sync.Mutex
	ended := 0
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			curve := table.NewCurve()
			for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
				if err := errors.Join(ctx.Err(), all[i].account(ladder, table, curve, fine)); err != nil {
					return err
				}
				progress.Lock()
				ended++
				o.ReportProgress(ended, len(all), "accounting for users")
				progress.Unlock()
			}
			return nil
		})
	}
	return group.Wait() //nolint:wrapcheck // the caller adds the name of the experiment
}

func (u *spent) account(ladder bucket.Ladder, table *bucket.Table, curve *bucket.Curve, fine *divergences) error {
	u.counts = table.NewCounts()
	total := make(loss.RDP, len(fine.orders))
	for i, order := range fine.orders {
		total[i].Alpha = order
	}
	for _, sigma := range u.sigmas {
		level, err1 := ladder.Bucket(sigma)
		step, err2 := fine.above(sigma)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		u.counts[level] += batches
		for i := range step {
			total[i].Epsilon += batches * step[i].Epsilon
		}
	}
	if err := curve.Set(u.counts); err != nil {
		return err //nolint:wrapcheck // the caller names the experiment
	}
	var err1, err2 error
	u.byPLD, err1 = curve.EpsilonAt(userDelta)
	u.byRDP, err2 = conversion.RDPToEpsilon(total, userDelta)
	return errors.Join(err1, err2)
}

// coverOf compares the curve of one user with the Gaussian curve that covers it (Figure 1, left).
func coverOf(table *bucket.Table, u spent) (experiment.Table, experiment.Figure, error) {
	const slack = 1e-9
	curve := table.NewCurve()
	if err := curve.Set(u.counts); err != nil {
		return experiment.Table{}, experiment.Figure{}, err //nolint:wrapcheck // the caller names the experiment
	}
	mu, err := curve.SmallestMu(slack)
	if err != nil {
		return experiment.Table{}, experiment.Figure{}, err //nolint:wrapcheck // the caller names the experiment
	}
	t := experiment.Table{
		Title: "Figure 1, left: the median user's curve, and the Gaussian guarantee that covers it",
		Columns: []experiment.Column{{Name: "ε", Digits: 3}, {Name: "log₁₀ δ of the user", Digits: 3},
			{Name: "log₁₀ δ of the cover", Digits: 3}},
		Note: "Covered by " + experiment.Column{Digits: 4}.Format(mu) + "-GDP, up to 1e-9.",
	}
	f := experiment.Figure{Title: "Figure 1, left: δ(ε) of the median user", X: "ε", Y: "δ", LogY: true}
	user := experiment.Series{Name: "the user's own"}
	covers := experiment.Series{Name: "the Gaussian guarantee that covers it"}
	for i := 0; i <= 16; i++ {
		epsilon := u.byPLD * 1.2 * float64(i) / 16
		a, err1 := curve.DeltaAt(epsilon)
		b, err2 := conversion.GDPToDelta(loss.GDP{Mu: mu}, epsilon)
		if err := errors.Join(err1, err2); err != nil {
			return t, f, err
		}
		b += slack
		user.Add(epsilon, a)
		covers.Add(epsilon, b)
		if i%4 == 0 {
			t.Rows = append(t.Rows, []any{epsilon, math.Log10(a), math.Log10(b)})
		}
	}
	f.Series = []experiment.Series{user, covers}
	return t, f, nil
}
