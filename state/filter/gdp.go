package filter

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// GDP is the Gaussian filter: squares of μ add (Koskela, Tobaben and Honkela,
// Theorem 12). Everything accepted together is B-GDP with the B of the budget. Not
// safe for concurrent use.
//
// Their theorem is about a run up to the first refusal. This filter goes on after
// one; that is Theorem 11 on the filtered mechanism: what is refused counts as a
// mechanism that releases nothing, so that Σ μ² ≤ B² on every path.
type GDP struct {
	filterOf[loss.GDP, gdp, *gdp]
}

type gdp struct{ squares fixed.Meter }

var _ Filter[loss.GDP] = (*GDP)(nil)

// NewGDP returns a GDP filter of budget μ, 2^-40 ≤ μ < 2^24. It holds μ² without
// rounding: one loss of μ fits, and so do k losses of loss.GDP{Mu: μ}.Split(k) where those
// are at least 2^-52, which k ≤ 2^24 always is enough for. The error is a *units.RangeError.
func NewGDP(mu float64) (*GDP, error) {
	if err := checkMu(mu); err != nil {
		return nil, err
	}
	return newGDP(fixed.NewMeter(fixed.SquareDown(mu))), nil
}

func checkMu(mu float64) error {
	return units.Require(mu >= 0x1p-40 && mu < 0x1p24, "mu", mu, "at least 2^-40 (9.1e-13) and below 2^24")
}

// NewGDPFor returns a GDP filter with the greatest μ² that (ε, δ) allows
// (budgets.LargestSquare). The error is a *units.RangeError: ε and δ as there, and large
// enough for a μ of 2^-40.
func NewGDPFor(budget loss.Approx) (*GDP, error) {
	square, err := budgets.LargestSquare(budget.Epsilon, budget.Delta, budgets.GDP)
	if err != nil {
		return nil, err
	}
	squares := fixed.BigDown(square)
	if err := checkMu(squares.Root()); err != nil {
		return nil, fmt.Errorf("making a Gaussian filter for (%v, %v): %w", budget.Epsilon, budget.Delta, err)
	}
	return newGDP(fixed.NewMeter(squares)), nil
}

func newGDP(squares fixed.Meter) *GDP { return &GDP{newFilter[loss.GDP](gdp{squares})} }

// Fresh returns a filter of the same budget of which nothing is spent.
func (g *GDP) Fresh() Filter[loss.GDP] { return &GDP{g.fresh()} }

func (g *gdp) admit(act fixed.Act, l loss.GDP) error {
	if err := l.Validate(); err != nil {
		return err
	}
	return exceeded(g.squares.Admit(act, fixed.SquareUp(l.Mu)))
}

func (g *gdp) left() loss.GDP   { return loss.GDP{Mu: g.squares.Left().Root()} }
func (g *gdp) spent() loss.GDP  { return loss.GDP{Mu: g.squares.Taken().RootUp()} }
func (g *gdp) budget() loss.GDP { return loss.GDP{Mu: g.squares.Limit().Root()} }
func (g *gdp) fresh() gdp       { return gdp{g.squares.Fresh()} }

func (*gdp) Kind() stored.Kind        { return "filter.GDP" }
func (g *gdp) Layout(c *stored.Codec) { layoutLoss(c, &g.squares, false) }
