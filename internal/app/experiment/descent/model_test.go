package descent

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

var modelsToTest = []model{
	{"linear", 5, 3, 0, true},
	{"logistic", 5, 3, 0, false},
	{"network", 5, 3, 4, false},
	{"network of squares", 5, 3, 4, true},
}

// examples generates n examples.
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

// loss returns the loss of all examples together.
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

// Gradients and their norms equal central differences of the loss, which needs no derivative.
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
