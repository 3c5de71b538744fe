package compose

import (
	"cmp"

	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ZCDP returns a mechanism about which only ρ-zCDP is known (Bun and Steinke, 2016, Definition
// 1.1): it has no dominating pair, so pld and gdp do not apply. The zCDP must not be approximate;
// its ρ is above 0. The error is a *units.RangeError.
func ZCDP(is loss.ZCDP) (Mechanism, error) {
	if err := cmp.Or(positive("rho", is.Rho), units.Require(is.Delta == 0, "delta", is.Delta, "0")); err != nil {
		return Mechanism{}, err
	}
	return Mechanism{name: "zcdp", concentrated: is.Rho, count: 1}, nil
}
