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

// families are the families of mechanisms that dp_accounting also has; mixed draws from all but
// randomized response.
var families = []string{"gaussian", "sampled", "laplace", "discrete-gaussian", "randomized-response", "mixed"}

// drawnOf returns a mechanism of a family run count times, and what compositions.py calls it.
func drawnOf(rng *rand.Rand, family string) (m Mechanism, theirs []any, err error) {
	size, count := math.Exp(3*rng.Float64()), 1+rng.IntN(40)
	switch family {
	case "mixed":
		return drawnOf(rng, families[rng.IntN(4)]) // randomized response has other neighbours
	case "gaussian":
		m, err = Gaussian(3*size, 1)
		theirs = []any{"gaussian", 3 * size, 1, count}
	case "sampled":
		sampling := 0.002 + 0.1*rng.Float64()
		m, err = SampledGaussian(0.7*size, 1, sampling)
		theirs = []any{"gaussian", 0.7 * size, sampling, count}
	case "laplace":
		m, err = Laplace(2*size, 1)
		theirs = []any{"laplace", 2 * size, 0, count}
	case "discrete-gaussian":
		m, err = DiscreteGaussian(3*size, 1)
		theirs = []any{"discrete-gaussian", 3 * size, 0, count}
	default:
		values := 2 + rng.IntN(9)
		m, err = RandomizedResponse(1/size, values)
		theirs = []any{"randomized-response", float64(values) / (math.Expm1(1/size) + float64(values)), values, count}
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

// On 500 compositions of three to five mechanisms Best is not below dp_accounting's lower bound of
// the truth, and at most 1 % above its upper bound. The log has the CPU seconds of both by family.
func TestCompositionsBesideDPAccounting(t *testing.T) {
	long.Test(t)
	program := exec.Command(python.With(t, "dp_accounting"), "testdata/compositions.py")
	program.Stderr = os.Stderr
	in, err1 := program.StdinPipe()
	out, err2 := program.StdoutPipe()
	if err1 != nil || err2 != nil || program.Start() != nil {
		t.Fatal(err1, err2)
	}
	t.Cleanup(func() { _ = in.Close(); _ = program.Wait() })
	rng, lines, q := rand.New(runseed.PCG(t, 46, 500)), bufio.NewScanner(out), asked(t, EpsilonAt, 1e-6)
	type sums struct{ n, ours, theirs, over float64 }
	by := map[string]*sums{}
	for i := range 500 {
		family := families[i%len(families)]
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
		best, _, err := Best(list, q)
		spent := cpu(t) - begin
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(in).Encode(composition); err != nil || !lines.Scan() {
			t.Fatal(err, lines.Err())
		}
		var found [3]float64 // from below, from above, CPU seconds
		if err := json.Unmarshal(lines.Bytes(), &found); err != nil {
			t.Fatal(err)
		}
		if got := best.Loss.Epsilon; got < found[0]*(1-1e-9) || got > found[1]*1.01 {
			t.Errorf("%v: %v by %s, dp_accounting has %v to %v", composition, got, best.Accountant.Name(), found[0],
				found[1])
		}
		if by[family] == nil {
			by[family] = &sums{}
		}
		s := by[family]
		s.n, s.ours, s.theirs, s.over = s.n+1, s.ours+spent, s.theirs+found[2],
			max(s.over, best.Loss.Epsilon/found[1]-1)
		if i%50 == 49 {
			for _, f := range families {
				t.Logf("%3d: %-20s %+v", i+1, f, *by[f])
			}
		}
	}
}
