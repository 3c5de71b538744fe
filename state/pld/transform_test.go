package pld

import (
	"math"
	"math/big"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// The transform of a few impulses is known in closed form, so the error of the fast
// one can be seen at every length. The seeds are fixed.
func TestTransformsStayWithinTheirErrorBound(t *testing.T) {
	for _, n := range []int{16, 32, 1 << 9, 1 << 12, 1 << 15, 1 << 18} {
		if !long.On() && n > 1<<15 {
			continue
		}
		random := rand.New(runseed.PCG(t, 1, uint64(n)))
		sequence, places, norm := make([]float64, n), []int{}, 0.0
		for range 40 {
			i := random.IntN(n)
			if sequence[i] == 0 {
				places = append(places, i)
				sequence[i] = random.ExpFloat64()
				norm += sequence[i]
			}
		}
		plan := fourier.NewFFT(n)
		spectrum := plan.Coefficients(nil, sequence)
		worst := 0.0
		for range 2000 {
			k := random.IntN(n/2 + 1)
			want := complex(0, 0)
			for _, place := range places {
				turns := float64(place*k%n) / float64(n)
				sin, cos := math.Sincos(2 * math.Pi * turns)
				want += complex(sequence[place]*cos, -sequence[place]*sin)
			}
			worst = max(worst, cmplx.Abs(spectrum[k]-want))
		}
		if worst > transformError(n, norm) {
			t.Errorf("length %d: error %v, the bound is %v", n, worst, transformError(n, norm))
		}
		back, size := plan.Sequence(nil, spectrum), 0.0
		for i, z := range spectrum {
			size += cmplx.Abs(z)
			if i > 0 && i < n/2 {
				size += cmplx.Abs(z)
			}
		}
		worst = 0
		for i := range back {
			worst = max(worst, math.Abs(back[i]-sequence[i]*float64(n)))
		}
		if bound := transformError(n, size) + float64(n)*transformError(n, norm); worst > bound {
			t.Errorf("length %d and back: error %v, the bound is %v", n, worst, bound)
		}
	}
}

// Convolving term by term has no absolute error: the transforms' result must lie above it, by no
// more than their own bound.
func TestTransformsLieAboveDirectConvolutionWithinTheirBound(t *testing.T) {
	pairs := []Pair{
		Gaussian{Sigma: 0.8}, SubsampledGaussian{Sigma: 0.7, Sampling: 0.2}, Laplace{Scale: 0.5},
		DiscreteGaussian{Sigma: 1.3, Sensitivity: 1}, RandomizedResponse{Epsilon: 1.1, Values: 4}, Approx{Epsilon: 0.4,
			Delta: 1e-7},
	}
	random := rand.New(runseed.PCG(t, 7, 7))
	rounds := 40
	if !long.On() {
		rounds = 8
	}
	for range rounds {
		d := must.Have(New(pairs[random.IntN(len(pairs))], Options{Interval: 0x1p-5, MinDelta: 1e-15}))
		d = must.Have(d.Power(1 + random.IntN(20)))
		other := must.Have(New(pairs[random.IntN(len(pairs))], Options{Interval: 0x1p-5, MinDelta: 1e-15}))
		d = must.Have(d.Compose(other))
		c := must.Have(newComposition(d.side(random.IntN(2)), d.options))
		exact := must.Have(c.direct())
		fast := must.Have(c.transformed())
		for i, delta := range exact.delta {
			epsilon := exact.loss(exact.from + i)
			got := fast.deltaAt(epsilon)
			if got < delta*(1-1e-9)-0x1p-999 { // margin of direct for underflow
				t.Fatalf("at %v: %v by transforms, %v term by term", epsilon, got, delta)
			}
			if got > delta*(1+1e-5)+1e-14 { // 10 times MinDelta, which both leave out
				t.Fatalf("at %v: %v by transforms is far above %v term by term", epsilon, got, delta)
			}
		}
	}
}

// The error bounds assume that the functions of package math are exact to 2 units in
// the last place, 2^-51 relatively; Sin and Cos are checked with the transforms, in
// which they are used. Random points.
func TestElementaryFunctionsAreAsExactAsAssumed(t *testing.T) {
	random := rand.New(runseed.PCG(t, 3, 5))
	points := 400
	if !long.On() {
		points = 60
	}
	check := func(name string, x, got float64, want *big.Float) {
		off := bigmath.New(got)
		off.Sub(off, want)
		off.Quo(off, want)
		if relative, _ := off.Float64(); math.Abs(relative) > 0x1p-51 {
			t.Errorf("math.%s(%v) = %v: off by a relative %v", name, x, got, relative)
		}
	}
	for range points {
		x := (random.Float64() - 0.5) * 100
		exp := bigmath.Exp(bigmath.New(x))
		check("Exp", x, math.Exp(x), exp)
		small := (random.Float64() - 0.5) * math.Exp2(-20*random.Float64())
		less := bigmath.Exp(bigmath.New(small))
		check("Expm1", small, math.Expm1(small), less.Sub(less, bigmath.New(1)))
		positive := math.Exp((random.Float64() - 0.5) * 60)
		check("Log", positive, math.Log(positive), bigmath.Log(bigmath.New(positive)))
		more := bigmath.New(small)
		check("Log1p", small, math.Log1p(small), bigmath.Log(more.Add(more, bigmath.New(1))))
		tail := random.Float64() * 25
		root := bigmath.Zero().Sqrt(bigmath.New(2))
		upper := bigmath.UpperTail(root.Mul(root, bigmath.New(tail)))
		check("Erfc", tail, math.Erfc(tail), upper.Mul(upper, bigmath.New(2)))
		center := math.Abs(small) * 4
		root.Sqrt(bigmath.New(2))
		outer := bigmath.UpperTail(root.Mul(root, bigmath.New(center)))
		outer.Mul(outer, bigmath.New(2))
		check("Erf", center, math.Erf(center), outer.Sub(bigmath.New(1), outer))
		half := bigmath.Exp(bigmath.New(small))
		inverse := bigmath.Zero().Quo(bigmath.New(1), half)
		half.Sub(half, inverse)
		check("Sinh", small, math.Sinh(small), half.Mul(half, bigmath.New(0.5)))
	}
}
