package accounting

import (
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// maxQuantised is the maximum squared norm of a quantised vector. With this limit, a float64 can
// represent every coordinate.
const maxQuantised = 1 << 62

// Quantiser turns vectors of real numbers, such as gradients, into vectors of integers in units of
// 1/scale, clipped to a Euclidean norm. Such vectors are for LinearQueries and for sums with
// discrete Gaussian noise. Quantising does not increase the norm: ‖q‖² is at most ⌊(clip·scale)²⌋.
// Rounding to nearest would permit (clip·scale + √d/2)², and the conditional rounding of Kairouz,
// Liu and Steinke (2021, Proposition 22) a little less. The price is that some coordinates of a
// vector near the clip are rounded towards 0. Apart from float64 rounding, each coordinate is
// within 1 unit of the clipped vector's coordinate, and within 1/2 if none was rounded towards 0.
//
// Rounding towards 0 only shortens a vector, so there is always a result that fits. The norm is
// computed from integers, after all rounding, so it has no float64 error. The result depends only
// on one user's vector. A Quantiser is immutable and safe for concurrent use.
type Quantiser struct {
	clip, scale float64
	bound       SquaredNorm
}

// NewQuantiser returns a quantiser that clips vectors to a norm of clip, in the vectors' unit, and
// returns integers in units of 1/scale. The error is a *units.RangeError unless clip and scale are
// finite and above 0 and (clip·scale)² is from 1 to 2^62. With a scale of at least 2^10/clip,
// rounding is small compared with noise as large as a clipped vector.
func NewQuantiser(clip, scale float64) (Quantiser, error) {
	for name, v := range map[string]float64{"clip": clip, "scale": scale} {
		if !(v > 0 && v <= math.MaxFloat64) {
			return Quantiser{}, &units.RangeError{Parameter: name, Value: v, Range: "finite and above 0"}
		}
	}
	exact := new(big.Float).SetPrec(256).SetFloat64(clip)
	exact.Mul(exact, big.NewFloat(scale))
	exact.Mul(exact, exact) // at most 212 bits
	bound, _ := exact.Uint64()
	if bound < 1 || exact.Cmp(big.NewFloat(maxQuantised)) > 0 {
		return Quantiser{}, &units.RangeError{Parameter: "clip*scale", Value: clip * scale, Range: "from 1 to 2^31"}
	}
	return Quantiser{clip: clip, scale: scale, bound: SquaredNorm(bound)}, nil
}

// Bound returns the largest squared norm of a quantised vector, ⌊(clip·scale)²⌋.
func (q Quantiser) Bound() SquaredNorm { return q.bound }

// Quantise returns a quantised vector and its exact squared norm. It stores the vector in dst if
// dst has the capacity. If a coordinate is not finite, the error is a *units.RangeError; as the
// error depends on the user's data, use the zero vector instead. A zero Quantiser returns zeros.
func (q Quantiser) Quantise(dst []int64, vector []float64) ([]int64, SquaredNorm, error) {
	greatest := 0.0
	for j, x := range vector {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, 0, fmt.Errorf("quantising a vector: %w", &units.RangeError{Parameter: fmt.Sprintf("vector[%d]",
				j), Value: x, Range: "finite"})
		}
		greatest = max(greatest, math.Abs(x))
	}
	if cap(dst) < len(vector) {
		dst = make([]int64, len(vector))
	}
	dst = dst[:len(vector)]
	if greatest == 0 || q.bound == 0 {
		clear(dst)
		return dst, 0, nil
	}
	// Coordinates are divided by the greatest, so that their squares neither overflow nor vanish.
	sum := 0.0
	for _, x := range vector {
		sum += (x / greatest) * (x / greatest)
	}
	length := min(greatest, q.clip/math.Sqrt(sum)) * q.scale // clipped and scaled greatest coordinate
	for j, x := range vector {
		dst[j] = int64(math.Round(x / greatest * length))
	}
	norm := squaredNorm(dst)
	for j := 0; norm > q.bound && j < len(dst); j++ {
		if math.Abs(float64(dst[j])) > math.Abs(vector[j]/greatest*length) {
			norm -= shorten(&dst[j])
		}
	}
	for j := 0; norm > q.bound; j = (j + 1) % len(dst) { // needed only because of float64 rounding
		norm -= shorten(&dst[j])
	}
	return dst, norm, nil
}

// shorten moves a coordinate by one towards 0 and returns the decrease in its square.
func shorten(v *int64) SquaredNorm {
	switch {
	case *v > 0:
		*v--
		return SquaredNorm(2**v + 1)
	case *v < 0:
		*v++
		return SquaredNorm(1 - 2**v)
	}
	return 0
}

// Real converts a noisy sum of quantised vectors to the vectors' own unit: it divides every
// coordinate by scale, in place.
func (q Quantiser) Real(sum []float64) []float64 {
	for j := range sum {
		sum[j] /= q.scale
	}
	return sum
}

// ZCDP returns the loss of a user whose vector has squared norm n, from a sum with Gaussian or
// discrete Gaussian noise of parameter sigma in every coordinate. The loss is ρ = ‖q‖²/(2σ²),
// rounded up, for any number of coordinates (Canonne, Kamath and Steinke, 2020, Theorem 4, for each
// coordinate; Bun and Steinke, 2016, Lemma 2.3). The error is a *units.RangeError unless sigma is
// from 2^-23 to 2^40 and the norm is below 2^64 − 1.
func (n SquaredNorm) ZCDP(sigma float64) (loss.ZCDP, error) {
	if !(sigma >= 0x1p-23 && sigma <= 0x1p40) {
		return loss.ZCDP{}, &units.RangeError{Parameter: "sigma", Value: sigma, Range: "from 2^-23 to 2^40"}
	}
	if n == math.MaxUint64 {
		return loss.ZCDP{}, &units.RangeError{Parameter: "norm", Value: float64(n), Range: "below 2^64 - 1"}
	}
	// Both quotients are rounded up. Halving is exact.
	return loss.ZCDP{Rho: rounding.QuotientUp(rounding.QuotientUp(rounding.IntegerUp(uint64(n)), sigma), sigma) / 2},
		nil
}

// GDP returns the loss μ = ‖q‖/σ with Gaussian noise (Dong, Roth and Su, 2022, Theorem 2.7),
// rounded up. No such μ is known for discrete Gaussian noise. The error is as for ZCDP.
func (n SquaredNorm) GDP(sigma float64) (loss.GDP, error) {
	if _, err := n.ZCDP(sigma); err != nil {
		return loss.GDP{}, err
	}
	return loss.GDP{Mu: rounding.QuotientUp(rounding.RootUp(rounding.IntegerUp(uint64(n))), sigma)}, nil
}
