package bucket

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// exactMoment returns log Σ p·e^(λ·(loss − shift·interval)) with 384 bits.
func exactMoment(v pld.Vector, shift int, lambda float64) float64 {
	sum := bigmath.Zero()
	for i, p := range v.Probabilities {
		order := bigmath.New(lambda)
		order.Mul(order, bigmath.New(float64(v.Lowest+i-shift)*v.Interval))
		term := bigmath.Exp(order)
		sum.Add(sum, term.Mul(term, bigmath.New(p)))
	}
	log, _ := bigmath.Log(sum).Float64()
	return log
}

// Whatever the distance of losses, and wherever the masses lie: no moment is below
// the truth, and none is far above it where its addends fit a float64.
func TestMomentsAreUpperBounds(t *testing.T) {
	mass := rapid.Custom(func(t *rapid.T) float64 {
		if rapid.IntRange(0, 3).Draw(t, "none") == 0 {
			return 0
		}
		return math.Pow(10, rapid.Float64Range(-300, 0).Draw(t, "log mass"))
	})
	rapid.Check(t, func(t *rapid.T) {
		v := pld.Vector{
			Grid: pld.Grid{
				Interval: math.Ldexp(1, -rapid.IntRange(0, 12).Draw(t, "interval")),
				Lowest:   rapid.IntRange(-300, 300).Draw(t, "lowest"),
			},
			Probabilities: rapid.SliceOfN(mass, 1, 150).Draw(t, "masses"),
		}
		total := 1e-290
		v.Probabilities[rapid.IntRange(0, len(v.Probabilities)-1).Draw(t, "where")] += 1e-290
		for _, p := range v.Probabilities {
			total += p
		}
		for i := range v.Probabilities {
			v.Probabilities[i] /= total
		}
		s := emptySpectrum(v, 2)
		last := len(v.Probabilities) - 1
		for v.Probabilities[last] == 0 {
			last--
		}
		for j, lambda := range lambdas {
			if j%8 != rapid.IntRange(0, 7).Draw(t, "order") {
				continue
			}
			got, want := s.moments[j], exactMoment(v, s.shift, lambda)
			if !(got >= want-math.Abs(want)*unit) {
				t.Fatalf("λ = %v: the moment's logarithm is %v, below the true %v", lambda, got, want)
			}
			if fits := lambda*float64(v.Lowest+last-s.shift)*v.Interval < 700; fits && want > -600 &&
				got > want+1e-11*(1+math.Abs(want)) {
				t.Fatalf("λ = %v: the moment's logarithm is %v, far above the true %v", lambda, got, want)
			}
		}
	})
}
