package mechanisms

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
)

func TestRatioComparesDigitByDigit(t *testing.T) {
	third := uint64(0x5555555555555555) // 1/3 = 0.555… in base 2^64
	for _, c := range []struct {
		name   string
		n, d   uint64
		digits []uint64
		want   bool
	}{
		{"below", 1, 3, []uint64{third - 1}, true},
		{"above", 1, 3, []uint64{third + 1}, false},
		{"tie, then below", 1, 3, []uint64{third, third, 0}, true},
		{"tie, then above", 1, 3, []uint64{third, third, third + 1}, false},
		{"one half met exactly", 1, 2, []uint64{1 << 63}, false},
		{"just under one half", 1, 2, []uint64{1<<63 - 1}, true},
		{"never", 0, 7, []uint64{0}, false},
		{"always, without digits", 7, 7, nil, true},
		{"large", math.MaxUint64 - 1, math.MaxUint64, []uint64{math.MaxUint64 - 1, 1}, true},
	} {
		src := &script{t, c.digits}
		if got := ratio(c.n, c.d, src); got != c.want || len(src.words) != 0 {
			t.Errorf("%s: %v with %d digits left", c.name, got, len(src.words))
		}
	}
}

func TestBernoulliOfExponentialsHasItsProbability(t *testing.T) {
	n := chance.Trials(200_000)
	for i, c := range []struct{ x, y, d uint64 }{
		{0, 5, 1}, {1, 1, 1}, {1, 1, 2}, {1, 3, 1}, {7, 1, 3}, {1, 1, 1000},
		{5 << 61, 3, 1 << 63}, {3 << 60, 1 << 10, 1 << 63},
	} {
		src, hits := seeded(t, uint64(i)), 0
		for range n {
			if expMinusProduct(c.x, c.y, c.d, src) {
				hits++
			}
		}
		gamma := float64(c.x) * float64(c.y) / float64(c.d)
		chance.CheckRate(t, fmt.Sprintf("exp(-%d*%d/%d)", c.x, c.y, c.d), hits, n, math.Exp(-gamma))
	}
}

func TestUniformIsUniform(t *testing.T) {
	n := chance.Trials(200_000)
	for _, m := range []uint64{1, 2, 3, 10, 64} {
		src, counts, law := seeded(t, m), map[uint64]int{}, map[uint64]float64{}
		for x := range m {
			law[x] = 1 / float64(m)
		}
		for range n {
			counts[uniform(m, src)]++
		}
		if m == 1 {
			if counts[0] != n {
				t.Errorf("below 1: %v", counts)
			}
			continue
		}
		checkCounts(t, fmt.Sprintf("below %d", m), counts, n, law)
	}
	// 3·2^62 rejects a quarter of the digits. Without the rejection, half of the results would be
	// multiples of 3.
	src, multiples := seeded(t, 9), 0
	for range n {
		if uniform(3<<62, src)%3 == 0 {
			multiples++
		}
	}
	chance.CheckRate(t, "multiples of 3", multiples, n, 1.0/3)
}

func TestTwoSidedGeometricHasItsLaw(t *testing.T) {
	n := chance.Trials(200_000)
	for i, scale := range []uint64{1, 2, 3, 40} {
		src, counts := seeded(t, 100+uint64(i)), map[int64]int{}
		for range n {
			x, err := twoSided(scale, src)
			if err != nil {
				t.Fatal(err)
			}
			counts[x]++
		}
		checkCounts(t, fmt.Sprintf("scale %d", scale), counts, n, discreteLaplaceLaw(1/float64(scale)))
	}
}

// alternating makes every Bernoulli trial of exp(−1) succeed: 1/2 is met, 1/3 is not.
type alternating bool

func (a *alternating) Word() uint64 {
	*a = !*a
	if *a {
		return 0
	}
	return math.MaxUint64
}

func TestDigitsThatAreNotRandomAreAnError(t *testing.T) {
	src := new(alternating)
	if _, err := geometric(1, src); !errors.Is(err, ErrDigits) {
		t.Errorf("got %v, want ErrDigits", err)
	}
}
