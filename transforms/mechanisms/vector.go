package mechanisms

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/state/units"
)

// ReleaseVector writes a sum of integer vectors to dst, which grows if it is too short. It adds
// independent noise to every coordinate, as if it called Release for each coordinate in order. One
// price covers all coordinates, by the Euclidean norm of the difference that one individual makes:
// ρ = ‖Δ‖²/(2σ²) (Canonne, Kamath and Steinke, 2020, Theorem 4; Rényi divergences add over
// independent coordinates). For a quantised vector, accounting.SquaredNorm.ZCDP returns that price.
// The error is a *units.RangeError for a coordinate beyond ±2^53, before any noise is drawn, or
// wraps ErrDigits. With an error, no vector is returned.
func (d *DiscreteGaussian) ReleaseVector(dst []float64, sum []int64, src Source) ([]float64, error) {
	for j, total := range sum {
		if total > greatestTotal || total < -greatestTotal {
			return nil, &units.RangeError{Parameter: fmt.Sprintf("sum[%d]", j), Value: float64(total),
				Range: "between -2^53 and 2^53"}
		}
	}
	if cap(dst) < len(sum) {
		dst = make([]float64, len(sum))
	}
	dst = dst[:len(sum)]
	for j, total := range sum {
		var err error
		if dst[j], err = d.Release(float64(total), src); err != nil {
			clear(dst)
			return nil, fmt.Errorf("releasing coordinate %d: %w", j, err)
		}
	}
	return dst, nil
}
