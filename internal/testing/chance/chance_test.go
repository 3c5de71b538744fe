package chance

import "testing"

type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestRatesAreHeldToSixDeviations(t *testing.T) {
	for _, c := range []struct {
		successes, n int
		p            float64
		fails        bool
	}{
		// The deviation of 10,000 draws at 1/2 is 50.
		{5000, 10_000, 0.5, false}, {5300, 10_000, 0.5, false}, {4700, 10_000, 0.5, false}, {5310, 10_000, 0.5, true},
		{4690, 10_000, 0.5, true},
		// The expectation is 0.34: P(at least 6) = 1e-6, P(at least 10) = 4e-12.
		{6, 100_000, 3.4e-6, false}, {10, 100_000, 3.4e-6, true},
		{0, 10, 0.5, false}, {0, 100, 0.5, true}, {100, 100, 0.5, true}, {100, 100, 1, false}, {99, 100, 1, true},
		{1, 100, 0, true}, {0, 100, 0, false},
	} {
		r := &recorder{}
		CheckRate(r, "", c.successes, c.n, c.p)
		if r.failed != c.fails {
			t.Errorf("%d of %d at %v fails: %v, want %v", c.successes, c.n, c.p, r.failed, c.fails)
		}
	}
}
