package mechanisms

import (
	"github.com/tollgate-dp/tollgate/state/units"
)

// greatestTotal is the greatest n for which a float64 can represent every integer up to n.
const greatestTotal = 1 << 53

// GaussianNoise returns the function that accounting.LinearQueries requires. The function releases
// integers with Gaussian noise of at least the given standard deviation, all from one Source. It
// returns the errors of NewGaussian and Release, and a *units.RangeError for a total beyond 2^53.
func GaussianNoise(src Source) func(total int64, sigma float64) (float64, error) {
	return noiseOf(src, NewGaussian)
}

// DiscreteGaussianNoise is GaussianNoise with discrete Gaussian noise.
func DiscreteGaussianNoise(src Source) func(total int64, sigma float64) (float64, error) {
	return noiseOf(src, NewDiscreteGaussian)
}

type releaser interface {
	Release(value float64, src Source) (float64, error)
}

func noiseOf[M releaser](src Source, create func(sigma float64) (M, error)) func(int64, float64) (float64, error) {
	return func(total int64, sigma float64) (float64, error) {
		if total > greatestTotal || total < -greatestTotal {
			return 0, &units.RangeError{Parameter: "total", Value: float64(total), Range: "between -2^53 and 2^53"}
		}
		m, err := create(sigma)
		if err != nil {
			return 0, err
		}
		return m.Release(float64(total), src)
	}
}
