package pld

import "testing"

func TestSumsAreExact(t *testing.T) {
	half := []float64{0.5, 0.5}
	for _, c := range []struct {
		p               []float64
		missing, excess float64
	}{
		{half, 0, 0}, {[]float64{1, 0x1p-60}, 0, 0x1p-60}, {[]float64{0.5, 0.5 - 0x1p-54}, 0x1p-54, 0}, {[]float64{1, 5e-324}, 0, 5e-324},
	} {
		if missing, excess := offOne(c.p); missing != c.missing || excess != c.excess {
			t.Errorf("%v: %v missing and %v too much, want %v and %v", c.p, missing, excess, c.missing, c.excess)
		}
	}
}
