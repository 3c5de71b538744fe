package filter

import (
	"fmt"
	"math/big"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ZCDP is the (ε, δ) filter through zero-concentrated differential privacy: ρ adds,
// up to a ρ that implies (ε, δ) (Feldman and Zrnic, Theorem 4.9). Everything
// accepted together is ρ-zCDP with that ρ, and so (ε, δ)-DP. Not safe for
// concurrent use.
//
// It takes plain zCDP: a loss with a δ is a *units.RangeError here, see ApproxZCDP.
// A pure ε-DP mechanism is ε²/2-zCDP, which is the theorem's ½·Σε².
type ZCDP struct {
	filterOf[loss.ZCDP, zcdp, *zcdp]
}

type zcdp struct{ rho fixed.Meter }

var _ Filter[loss.ZCDP] = (*ZCDP)(nil)

// NewZCDP returns a ZCDP filter with the ρ of ε = ρ + 2·√(ρ·ln 1/δ), the closed form
// given with Theorem 4.9: ρ = (√(ln 1/δ + ε) − √(ln 1/δ))². 2^-80 ≤ ε ≤
// budgets.MaxEpsilon and budgets.MinDelta ≤ δ < 1, both large enough for a ρ of 2^-80;
// the error is a *units.RangeError.
func NewZCDP(budget loss.Approx) (*ZCDP, error) {
	rho, err := simpleRho(budget)
	if err != nil {
		return nil, err
	}
	return newZCDP(budget, rho)
}

// NewZCDPOptimal returns a ZCDP filter with the greatest ρ that implies (ε, δ)
// through a Rényi order (budgets.LargestSquare). The error is a
// *units.RangeError: ε and δ as there, and large enough for a ρ of 2^-80.
func NewZCDPOptimal(budget loss.Approx) (*ZCDP, error) {
	square, err := budgets.LargestSquare(budget.Epsilon, budget.Delta, budgets.ZCDP)
	if err != nil {
		return nil, err
	}
	return newZCDP(budget, bigmath.Half(square))
}

func newZCDP(budget loss.Approx, rho *big.Float) (*ZCDP, error) {
	meter, err := limitOf("rho", rho)
	if err != nil {
		return nil, fmt.Errorf("making a zCDP filter for (%v, %v): %w", budget.Epsilon, budget.Delta, err)
	}
	return &ZCDP{newFilter[loss.ZCDP](zcdp{meter})}, nil
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (z *ZCDP) Fresh() Filter[loss.ZCDP] { return &ZCDP{z.fresh()} }

func (z *zcdp) admit(act fixed.Act, l loss.ZCDP) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if l.Delta != 0 {
		return &units.RangeError{Parameter: "delta", Value: l.Delta, Range: "0: this filter takes plain zCDP"}
	}
	return exceeded(z.rho.Admit(act, fixed.Up(l.Rho)))
}

func (z *zcdp) left() loss.ZCDP   { return loss.ZCDP{Rho: z.rho.Left().FloatDown()} }
func (z *zcdp) spent() loss.ZCDP  { return loss.ZCDP{Rho: z.rho.Taken().FloatUp()} }
func (z *zcdp) budget() loss.ZCDP { return loss.ZCDP{Rho: z.rho.Limit().FloatDown()} }
func (z *zcdp) fresh() zcdp       { return zcdp{z.rho.Fresh()} }

func (*zcdp) Kind() stored.Kind        { return "filter.ZCDP" }
func (z *zcdp) Layout(c *stored.Codec) { layoutLoss(c, &z.rho, false) }

// simpleRho returns the ρ of ε = ρ + 2·√(ρ·ln 1/δ), less a relative 2^-140, or a
// *units.RangeError. With L = ln 1/δ it is (ε/(√(L+ε) + √L))², in which nothing
// cancels.
func simpleRho(p loss.Approx) (*big.Float, error) {
	if err := checkPromise(p); err != nil {
		return nil, err
	}
	epsilon := bigmath.New(p.Epsilon)
	l := bigmath.Log(bigmath.New(p.Delta))
	l.Neg(l)
	root := bigmath.Zero().Sqrt(bigmath.Zero().Add(l, epsilon))
	root.Add(root, bigmath.Zero().Sqrt(l))
	root.Quo(epsilon, root)
	rho := root.Mul(root, root)
	return rho.Sub(rho, bigmath.Margin(rho)), nil
}
