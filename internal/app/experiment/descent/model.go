package descent

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// model is a network with at most one hidden layer, with tanh as activation. The loss is the cross
// entropy of the softmax, or half the squared distance to the unit vector of the class.
type model struct {
	name            string
	inputs, classes int
	hidden          int  // 0: a linear map
	squared         bool // whether the loss is the squared distance
}

// layer is a view of the parameters of one layer: a matrix of outputs by inputs, and a bias.
type layer struct {
	weights blas64.General
	bias    []float64
}

func (m model) parameters() int {
	if m.hidden == 0 {
		return m.classes * (m.inputs + 1)
	}
	return m.hidden*(m.inputs+1) + m.classes*(m.hidden+1)
}

// layers returns views of all layers in the parameters theta.
func (m model) layers(theta []float64) []layer {
	cut := func(outputs, inputs int) layer {
		l := layer{blas64.General{Rows: outputs, Cols: inputs, Stride: inputs, Data: theta[:outputs*inputs]},
			theta[outputs*inputs : outputs*(inputs+1)]}
		theta = theta[outputs*(inputs+1):]
		return l
	}
	if m.hidden == 0 {
		return []layer{cut(m.classes, m.inputs)}
	}
	return []layer{cut(m.hidden, m.inputs), cut(m.classes, m.hidden)}
}

// initial returns the initial parameters. They are 0, except for the weights before a hidden layer,
// which are random and so large that the layer is not linear.
func (m model) initial(random *rand.Rand) []float64 {
	theta := make([]float64, m.parameters())
	if m.hidden > 0 {
		w := m.layers(theta)[0].weights
		for i := range w.Data {
			w.Data[i] = random.NormFloat64() / math.Sqrt(float64(m.inputs))
		}
	}
	return theta
}

// work holds the buffers of one goroutine.
type work struct {
	hidden, outputs, back blas64.General
}

func (m model) newWork(examples int) *work {
	matrix := func(columns int) blas64.General {
		columns = max(columns, 1)
		return blas64.General{Rows: examples, Cols: columns, Stride: columns, Data: make([]float64, examples*columns)}
	}
	return &work{matrix(m.hidden), matrix(m.classes), matrix(m.hidden)}
}

// cut returns the first rows of a matrix.
func cut(g blas64.General, rows int) blas64.General {
	g.Rows = rows
	return g
}

func apply(l layer, x, y blas64.General) {
	for i := range y.Rows {
		copy(row(y, i), l.bias)
	}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, l.weights, 1, y)
}

func row(g blas64.General, i int) []float64 { return g.Data[i*g.Stride : i*g.Stride+g.Cols] }

// forward computes the outputs for examples, before the softmax, in w.outputs.
func (m model) forward(w *work, theta []float64, x blas64.General) {
	layers := m.layers(theta)
	if m.hidden > 0 {
		w.hidden = cut(w.hidden, x.Rows)
		apply(layers[0], x, w.hidden)
		for i, v := range w.hidden.Data[:x.Rows*m.hidden] {
			w.hidden.Data[i] = math.Tanh(v)
		}
		x = w.hidden
	}
	w.outputs = cut(w.outputs, x.Rows)
	apply(layers[len(layers)-1], x, w.outputs)
}

// correct counts the examples whose class has the greatest output.
func (m model) correct(w *work, theta []float64, d part) (n int) {
	m.forward(w, theta, d.x)
	for i, class := range d.classes {
		best := 0
		for j, v := range row(w.outputs, i) {
			if v > row(w.outputs, i)[best] {
				best = j
			}
		}
		if best == int(class) {
			n++
		}
	}
	return n
}

// softmax turns outputs into probabilities, and returns the logarithm of the divisor.
func softmax(outputs []float64) float64 {
	greatest, sum := math.Inf(-1), 0.0
	for _, v := range outputs {
		greatest = max(greatest, v)
	}
	for j, v := range outputs {
		outputs[j] = math.Exp(v - greatest)
		sum += outputs[j]
	}
	for j := range outputs {
		outputs[j] /= sum
	}
	return greatest + math.Log(sum)
}

// gradient adds the gradients of examples to sum. It multiplies each gradient by the factor that
// scale returns for the gradient's norm. For one example, the gradient of a layer is the product of
// the error at the layer's outputs and the layer's inputs, with a 1 for the bias. The norm can
// therefore be computed without the gradient.
func (m model) gradient(w *work, theta []float64, d part, scale func(i int, norm float64) float64, sum []float64) {
	m.forward(w, theta, d.x)
	layers, sums := m.layers(theta), m.layers(sum)
	for i, class := range d.classes {
		outputs := row(w.outputs, i)
		if !m.squared {
			softmax(outputs)
		}
		outputs[class]--
	}
	last, before := len(layers)-1, d.x
	if m.hidden > 0 {
		before, w.back = w.hidden, cut(w.back, d.x.Rows)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, w.outputs, layers[last].weights, 0, w.back)
		for i, v := range w.hidden.Data[:d.x.Rows*m.hidden] {
			w.back.Data[i] *= 1 - v*v
		}
	}
	for i := range d.classes {
		squared := square(row(w.outputs, i)) * (1 + square(row(before, i)))
		if m.hidden > 0 {
			squared += square(row(w.back, i)) * (1 + square(row(d.x, i)))
		}
		factor := scale(i, math.Sqrt(squared))
		multiply(row(w.outputs, i), factor)
		if m.hidden > 0 {
			multiply(row(w.back, i), factor)
		}
	}
	add := func(l layer, back, inputs blas64.General) {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, back, inputs, 1, l.weights)
		for i := range back.Rows {
			for j, v := range row(back, i) {
				l.bias[j] += v
			}
		}
	}
	add(sums[last], w.outputs, before)
	if m.hidden > 0 {
		add(sums[0], w.back, d.x)
	}
}

func square(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}

// multiply multiplies v by factor. If factor is 0, even infinite values become 0, not NaN.
func multiply(v []float64, factor float64) {
	if factor == 0 {
		clear(v)
		return
	}
	for i := range v {
		v[i] *= factor
	}
}
