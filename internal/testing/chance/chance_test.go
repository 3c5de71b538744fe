package chance

import "testing"

type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestRatesAreHeldToFiveDeviations(t *testing.T) {
	// 10,000 draws at 1/2: a deviation is 50.
	for successes, want := range map[int]bool{5000: false, 5250: false, 4750: false, 5252: true, 4748: true} {
		r := &recorder{}
		CheckRate(r, "", successes, 10_000, 0.5)
		if r.failed != want {
			t.Errorf("%d of 10,000 fails: %v, want %v", successes, r.failed, want)
		}
	}
}
