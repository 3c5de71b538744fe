package noisereduction

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Digits is a source of random digits for an exact sampler: independent and uniform over all 64-bit
// words.
type Digits interface{ Word() uint64 }

// Gauss draws rounded Gaussian noise from digits of the caller's choice, by the
// same exact algorithm as a Sampler. The zero value is ready for use; it contains
// scratch space only. Not safe for concurrent use.
type Gauss struct {
	gauss  normal
	digits words
}

// words gives Digits to the algorithm.
type words struct{ Digits }

func (w *words) word() uint64 { return w.Word() }

// Rounded returns the integer nearest to σ·2^exponent·Z, Z ~ N(0, 1) exactly,
// with a rational σ that is at least 1/√u and exceeds it by less than a factor
// 1 + 2^-30: the noise of precision u on the lattice of multiples of 2^-exponent.
//
// It fails if u is 0, if σ·2^exponent lies outside 2^0 … 2^50, and for a deviate
// beyond 512 standard deviations, which random digits do not give.
func (g *Gauss) Rounded(u units.Precision, exponent uint, src Digits) (int64, error) {
	if u.IsZero() {
		return 0, fmt.Errorf("drawing noise: the precision is 0")
	}
	if lead := int(exponent) + precisionBits/2 - int128.Uint(u).Len()/2; lead < 0 || lead > 50 {
		return 0, fmt.Errorf("drawing noise: a lattice of 2^-%d does not suit precision %g", exponent, u.Float())
	}
	q, t := scaledDeviation(u, exponent)
	g.digits.Digits = src
	defer func() { g.digits.Digits = nil }()
	return g.gauss.rounded(q, t, &g.digits)
}
