package compose

import (
	"bufio"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/python"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// families of mechanisms that the peers have, too. mixed draws from all but the last two.
var families = []string{"gaussian", "sampled", "laplace", "discrete-gaussian", "eps-delta", "randomized-response",
	"mixed"}

// drawnOf returns a mechanism of a family run count times, and what the peers call it.
func drawnOf(rng *rand.Rand, family string) (m Mechanism, theirs []any, err error) {
	size, count := math.Exp(4*rng.Float64()), 1+rng.IntN(40)
	switch family {
	case "mixed":
		return drawnOf(rng, families[rng.IntN(5)]) // randomized response has other neighbours
	case "gaussian":
		m, err = Gaussian(3*size, 1)
		theirs = []any{family, 3 * size, 1, count}
	case "sampled":
		sampling, sigma := 0.01+0.1*rng.Float64(), 0.9*math.Sqrt(size)
		count += 4 // the integrals of transform.py take long for a few samples
		m, err = SampledGaussian(sigma, 1, sampling)
		theirs = []any{"gaussian", sigma, sampling, count}
	case "laplace":
		m, err = Laplace(2*size, 1)
		theirs = []any{family, 2 * size, 0, count}
	case "discrete-gaussian":
		m, err = DiscreteGaussian(3*size, 1)
		theirs = []any{family, 3 * size, 0, count}
	case "eps-delta":
		each := eps(0.5*math.Pow(size, -1.5), 1e-13*rng.Float64()) // ε from 0.5 to 0.001
		m, err = Approx(each)
		theirs = []any{family, each.Epsilon, each.Delta, count}
	default:
		values := 2 + rng.IntN(9)
		m, err = RandomizedResponse(1/size, values)
		theirs = []any{family, float64(values) / (math.Expm1(1/size) + float64(values)), values, count}
	}
	if err == nil {
		m, err = m.Times(count)
	}
	return m, theirs, err
}

// cpu returns the CPU seconds of this process so far.
func cpu(t *testing.T) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// dp_accounting has grids of its own, rounded down and up.
func TestCompositionsBesideDPAccounting(t *testing.T) {
	long.Test(t)
	beside(t, 500, math.Inf(1), "testdata/compositions.py", "dp_accounting")
}

// testdata/transform.py has the exact ε, to 1 part in 1000, by an integral without a grid.
func TestRuleCompositionsAreAboveTheTruth(t *testing.T) {
	n := 2 * len(families)
	if long.On() {
		n = 100
	}
	beside(t, n, 1e-3, "testdata/transform.py", "mpmath", "numpy")
}

// beside draws compositions of three to five mechanisms. Best is at least a peer's lower bound and
// at most 1% above its upper bound; the two are no further apart than a relative width. The log
// has the CPU seconds of both by family.
func beside(t *testing.T, n int, width float64, script string, modules ...string) {
	program := exec.Command(python.With(t, modules...), script)
	program.Stderr = os.Stderr
	in, err1 := program.StdinPipe()
	out, err2 := program.StdoutPipe()
	if err1 != nil || err2 != nil || program.Start() != nil {
		t.Fatal(err1, err2)
	}
	t.Cleanup(func() { _ = in.Close(); _ = program.Wait() })
	rng, lines := rand.New(runseed.PCG(t, 46, 500)), bufio.NewScanner(out)
	type sums struct{ n, ours, theirs, over, width float64 }
	by := map[string]*sums{}
	for _, family := range families {
		by[family] = &sums{}
	}
	for i := range n {
		family, delta := families[i%len(families)], math.Pow(10, -5-4*rng.Float64())
		var list []Mechanism
		var composition []any
		for range 3 + rng.IntN(3) {
			m, theirs, err := drawnOf(rng, family)
			if err != nil {
				t.Fatal(err)
			}
			list, composition = append(list, m), append(composition, theirs)
		}
		begin := cpu(t)
		best, _, err := Best(list, asked(t, EpsilonAt, delta))
		spent, got := cpu(t)-begin, best.Loss.Epsilon
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(in).Encode([]any{delta, got, composition}); err != nil || !lines.Scan() {
			t.Fatal(err, lines.Err())
		}
		var found [3]float64 // from below, from above, CPU seconds
		if err := json.Unmarshal(lines.Bytes(), &found); err != nil {
			t.Fatal(err)
		}
		s := by[family]
		s.n, s.ours, s.theirs = s.n+1, s.ours+spent, s.theirs+found[2]
		s.over, s.width = max(s.over, got/found[1]-1), max(s.width, found[1]/found[0]-1)
		if got < found[0]*(1-1e-9) || got > found[1]*1.01 || !(found[1] <= found[0]*(1+width)) {
			t.Errorf("%v at %v: %v by %s, the peer has %v to %v", composition, delta, got, best.Accountant.Name(),
				found[0], found[1])
		}
	}
	for _, family := range families {
		t.Logf("%-20s %+v", family, *by[family])
	}
}
