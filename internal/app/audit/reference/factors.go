package reference

import (
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// factors are the two constants that simulations determined for a target, to a thousandth: κ of the
// stop rule and the widening of the interval. They are data that cannot be computed a second time,
// so the reference derives them from the public methods of a plan with the same target.
type factors struct{ kappa, widen *big.Rat }

func fittedFactors(spec schemas.MetricSpec) (factors, error) {
	if spec.Relative == 0 {
		return factors{rat(1), rat(1)}, nil
	}
	// The only rung has a deviation of 2^16 counts. The interval is then more than 10^8 units wide,
	// which is enough to determine its width to a thousandth. An absolute target of 2^-20 counts
	// cannot be met, so that only its presence matters.
	only := units.Precision{Lo: 1 << 48}
	twin := noisereduction.Spec{
		Kind: noisereduction.Kind(spec.LadderKind), Factor: spec.LadderFactor, First: only, Top: only,
		Target: noisereduction.Target{Relative: spec.Relative, Confidence: spec.Confidence},
	}
	if spec.Absolute != 0 {
		twin.Target.Absolute = 0x1p-20
	}
	plan, err := noisereduction.Compile(twin)
	if err != nil {
		return factors{}, fmt.Errorf("compiling a plan with the target of metric %q: %w", spec.Name, err)
	}
	r, err := plan.Release(noisereduction.NoiseKey{}, noisereduction.Identity{}, 0)
	if err != nil {
		return factors{}, fmt.Errorf("releasing with the target of metric %q: %w", spec.Name, err)
	}
	z, _ := quantile(tailOf(spec.Confidence, 1)).Float64()
	kappa := z * r.StdDev / (spec.Relative * plan.MeetableFrom())
	widen := (r.High - r.Low) / 2 / (z * r.StdDev)
	thousandths := func(x float64) *big.Rat { return big.NewRat(int64(math.Round(1000*x)), 1000) }
	return factors{thousandths(kappa), thousandths(widen)}, nil
}
