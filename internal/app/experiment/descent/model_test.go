package descent

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

var modelsToTest = []model{
	{"linear", 5, 3, 0, true},
	{"logistic", 5, 3, 0, false},
	{"network", 5, 3, 4, false},
	{"network of squares", 5, 3, 4, true},
}

// examples makes up n of them.
func examples(n, inputs, classes int, random *rand.Rand) part {
	p := newPart(n, inputs)
	for i := range p.x.Data {
		p.x.Data[i] = random.NormFloat64()
	}
	for i := range p.classes {
		p.classes[i] = uint8(random.IntN(classes))
	}
	return p
}

// loss is that of all examples together.
func (m model) loss(w *work, theta []float64, d part) (sum float64) {
	m.forward(w, theta, d.x)
	for i, class := range d.classes {
		outputs := row(w.outputs, i)
		if m.squared {
			for j, v := range outputs {
				if j == int(class) {
					v--
				}
				sum += v * v / 2
			}
			continue
		}
		target := outputs[class]
		sum += softmax(outputs) - target
	}
	return sum
}

// Central differences of the loss, which model.loss computes without any derivative: of all
// examples, and of each alone for its norm.
func TestGradientsAreThoseOfTheLoss(t *testing.T) {
	for _, m := range modelsToTest {
		t.Run(m.name, func(t *testing.T) {
			random := rand.New(runseed.PCG(t, 1, 2))
			data, w := examples(7, m.inputs, m.classes, random), m.newWork(7)
			theta := make([]float64, m.parameters())
			for i := range theta {
				theta[i] = 0.5 * random.NormFloat64()
			}
			differences := func(d part) []float64 {
				const h = 1e-5
				out := make([]float64, len(theta))
				for i, weight := range theta {
					theta[i] = weight + h
					up := m.loss(w, theta, d)
					theta[i] = weight - h
					out[i] = (up - m.loss(w, theta, d)) / (2 * h)
					theta[i] = weight
				}
				return out
			}
			norms, sum := make([]float64, len(data.classes)), make([]float64, len(theta))
			m.gradient(w, theta, data, func(i int, norm float64) float64 { norms[i] = norm; return float64(i) }, sum)
			want := make([]float64, len(theta))
			for i := range data.classes {
				one := differences(data.slice(i, i+1))
				if norm := math.Sqrt(square(one)); math.Abs(norm-norms[i]) > 1e-7 {
					t.Errorf("norm of example %d: %v, differences say %v", i, norms[i], norm)
				}
				for j, v := range one {
					want[j] += float64(i) * v
				}
			}
			for j := range want {
				if math.Abs(want[j]-sum[j]) > 1e-6 {
					t.Errorf("parameter %d: %v, differences say %v", j, sum[j], want[j])
				}
			}
		})
	}
}

// With no noise and a clip that nothing reaches, it is gradient descent: here as three loops.
func TestWithoutNoiseItIsGradientDescent(t *testing.T) {
	m, o := model{"linear", 3, 2, 0, true}, experiment.Options{Seed: 1}
	data := examples(2*chunk+17, 3, 2, o.Random("data"))
	d := newDescent(m, setting{sigma: 0, clip: 1e6, rate: 0.5, steps: 30}, data, o.Random("descent"))
	if err := d.run(t.Context(), 30); err != nil {
		t.Fatal(err)
	}
	var weights [2][4]float64
	for range 30 {
		var sum [2][4]float64
		for i, class := range data.classes {
			x := [4]float64{row(data.x, i)[0], row(data.x, i)[1], row(data.x, i)[2], 1}
			for k := range 2 {
				out := 0.0
				for j := range x {
					out += weights[k][j] * x[j]
				}
				if int(class) == k {
					out--
				}
				for j := range x {
					sum[k][j] += out * x[j]
				}
			}
		}
		for k := range 2 {
			for j := range 4 {
				weights[k][j] -= 0.5 * sum[k][j] / float64(len(data.classes))
			}
		}
	}
	l := m.layers(d.theta)[0]
	for k := range 2 {
		for j := range 4 {
			got := l.bias[k]
			if j < 3 {
				got = row(l.weights, k)[j]
			}
			if math.Abs(got-weights[k][j]) > 1e-9 {
				t.Errorf("weight %d of output %d: %v, not %v", j, k, got, weights[k][j])
			}
		}
	}
}
