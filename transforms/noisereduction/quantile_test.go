package noisereduction

import (
	"math"
	"math/big"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
)

// Reference: R 4.3, -qnorm(p), and for 2^-80 the asymptotic series to 12
// digits (checked against -qnorm(-80*log(2), log.p=TRUE)).
func TestUpperQuantile(t *testing.T) {
	for _, test := range []struct {
		p    *big.Rat
		want float64
	}{
		{big.NewRat(1, 2), 0},
		{big.NewRat(1, 40), 1.959963984540054},
		{big.NewRat(1, 2000), 3.290526731491926},
		{big.NewRat(1, 1e11), 6.706023155495137},
		{big.NewRat(1, 1e16), 8.222082216130435},
		{big.NewRat(1, 1e17), 8.493793224109598},
	} {
		z, _ := new(big.Float).SetInt(upperQuantile(test.p)).Float64()
		z = math.Ldexp(z, -quantileBits)
		if math.Abs(z-test.want) > 1e-11 || test.want == 0 && z != 0 {
			t.Errorf("quantile of %v is %.13f, want %.13f", test.p, z, test.want)
		}
	}
}

// TestUpperQuantileIsLeast: the tail at z is ≤ p, one unit below it is > p.
func TestUpperQuantileIsLeast(t *testing.T) {
	for _, p := range []*big.Rat{big.NewRat(1, 3), big.NewRat(1, 1e6), shifted(big.NewRat(1, 1), -80),
		shifted(big.NewRat(1, 1), -127)} {
		z := upperQuantile(p)
		limit := bigmath.Zero().SetRat(p)
		if upperTail(z).Cmp(limit) > 0 {
			t.Errorf("%v: tail is above p", p)
		}
		if upperTail(z.Sub(z, big.NewInt(1))).Cmp(limit) <= 0 {
			t.Errorf("%v: not the least", p)
		}
	}
}

func TestRootsOfTwo(t *testing.T) {
	for _, n := range []int{octave, 2 * octave} {
		for i, root := range rootsOfTwo(n) {
			// root^n ≤ 2^(i+62n) < (root+1)^n
			exponent := big.NewInt(int64(n))
			want := new(big.Int).Lsh(big.NewInt(1), uint(i+rootBits*n))
			low := new(big.Int).Exp(big.NewInt(root), exponent, nil)
			high := new(big.Int).Exp(big.NewInt(root+1), exponent, nil)
			if low.Cmp(want) > 0 || high.Cmp(want) <= 0 {
				t.Errorf("2^(%d/%d) is not %d·2^-62", i, n, root)
			}
		}
	}
}
