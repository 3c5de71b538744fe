package words

import "testing"

func TestAPartIsNeverRoundedToAllOrNothing(t *testing.T) {
	for part, want := range map[float64]string{
		0: "0%", 1e-6: "< 0.1%", 0.01: "1%", 0.0954: "9.5%", 0.5: "50%", 0.995: "99.5%", 0.999999: "> 99.9%",
		1: "100%", 1.95: "195%",
	} {
		if got := Percent(part); got != want {
			t.Errorf("%v: %q, want %q", part, got, want)
		}
	}
}
