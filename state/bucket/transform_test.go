package bucket

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

func TestRootsLieOnTheCircleToAHundredBits(t *testing.T) {
	r := newRoots(64)
	// cos(π/4) = 1/√2 and cos(π/32), sin(π/32), by half angles in 200 bits.
	one := new(big.Float).SetPrec(200).SetInt64(1)
	half := new(big.Float).SetPrec(200).SetFloat64(0.5)
	c := new(big.Float).SetPrec(200) // cos(π/2)
	for turns := 16; turns > 0; turns /= 2 {
		if turns < 16 {
			c.Sqrt(c.Mul(c.Add(c, one), half))
		}
		s := new(big.Float).SetPrec(200).Sqrt(
			new(big.Float).SetPrec(200).Sub(one, new(big.Float).SetPrec(200).Mul(c, c)))
		for _, p := range []struct {
			name string
			got  wide
			want *big.Float
		}{{"cos", r.cos[turns], c}, {"sin", r.sin[turns].neg(), s}} {
			got := new(big.Float).SetPrec(200).Add(big.NewFloat(p.got.hi), big.NewFloat(p.got.lo))
			if d, _ := got.Sub(got, p.want).Float64(); math.Abs(d) > 0x1p-103 {
				t.Errorf("%s(2π·%d/64) is off by %g", p.name, turns, d)
			}
		}
	}
}

func TestTransformIsTheDefiningSum(t *testing.T) {
	const n = 64
	rng := rand.New(runseed.PCG(t, 1, 2))
	r := newRoots(n)
	re, im := make([]wide, n), make([]wide, n)
	for i := range n {
		re[i], im[i] = wide{rng.Float64() / n, 0}, wide{rng.Float64() / n, 0}
	}
	wantRe, wantIm := make([]wide, n), make([]wide, n)
	for k := range n {
		for j := range n {
			c, s := r.cos[j*k%n], r.sin[j*k%n]
			wantRe[k] = wantRe[k].add(re[j].mul(c).sub(im[j].mul(s)))
			wantIm[k] = wantIm[k].add(re[j].mul(s).add(im[j].mul(c)))
		}
	}
	r.transform(re, im)
	for k := range n {
		if d := math.Abs(re[k].sub(wantRe[k]).hi) + math.Abs(im[k].sub(wantIm[k]).hi); d > wideErr {
			t.Errorf("component %d is off by %g", k, d)
		}
	}
}
