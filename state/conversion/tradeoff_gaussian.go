package conversion

import (
	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// gaussian is the curve of μ-GDP.
type gaussian struct{ of loss.GDP }

func (g gaussian) typeII(alpha float64) float64 {
	switch {
	case alpha == 0:
		return 1
	case alpha == 1:
		return 0
	case g.of.Mu == 0:
		return bigmath.RoundDown(bigmath.Down().Sub(bigmath.New(1), bigmath.New(alpha)))
	}
	x := bigmath.Zero().Sub(bigmath.New(g.of.Mu), bigmath.QuantileBelow(bigmath.New(alpha)))
	beta := bigmath.UpperTail(x)
	return bigmath.RoundDown(beta.Sub(beta, bigmath.Margin(beta)))
}

func (g gaussian) delta(epsilon float64) (float64, error) { return GDPToDelta(g.of, epsilon) }

func (g gaussian) epsilon(delta float64) (float64, error) { return GDPToEpsilon(g.of, delta) }

func (g gaussian) gdp() (loss.GDP, error) { return g.of, nil }

func (g gaussian) rdp(orders []float64) (loss.RDP, error) { return GDPToRDP(g.of, orders) }
