package mechanisms_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// With d = 1, and coordinate by coordinate: the same digits give the same release as Release.
func TestAVectorIsReleasedAsItsCoordinatesAre(t *testing.T) {
	t.Parallel()
	noise := discreteNoise(t, 3.5)
	sum := []int64{7, -1 << 53, 1 << 53, 0}
	for d := 1; d <= len(sum); d++ {
		together, alone := seeded(16), seeded(16)
		got, err := noise.ReleaseVector(nil, sum[:d], together)
		if err != nil || len(got) != d {
			t.Fatal(got, err)
		}
		for j, v := range got {
			if want, err := noise.Release(float64(sum[j]), alone); err != nil || v != want {
				t.Errorf("coordinate %d of %d: %v, want %v (%v)", j, d, v, want, err)
			}
		}
	}
}

func discreteNoise(t testing.TB, sigma float64) *mechanisms.DiscreteGaussian {
	t.Helper()
	noise, err := mechanisms.NewDiscreteGaussian(sigma)
	if err != nil {
		t.Fatal(err)
	}
	return noise
}

func TestAVectorBeyondExactFloatsIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []int64{1<<53 + 1, -1<<53 - 1, math.MinInt64, math.MaxInt64} {
		src := seeded(1)
		before := *src.PCG
		var out *units.RangeError
		got, err := discreteNoise(t, 2).ReleaseVector(nil, []int64{0, bad}, src)
		if !errors.As(err, &out) || out.Parameter != "sum[1]" || got != nil || *src.PCG != before {
			t.Errorf("%d: %v, %v", bad, got, err)
		}
	}
}
