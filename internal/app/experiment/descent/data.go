package descent

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
)

// dataset holds the examples for training and for testing.
type dataset struct {
	name            string
	train, test     part
	inputs, classes int
}

func newPart(n, inputs int) part {
	return part{blas64.General{Rows: n, Cols: inputs, Stride: inputs, Data: make([]float64, n*inputs)},
		make([]uint8, n)}
}

// Images of 28 by 28 pixels are averaged to 14 by 14 pixels. A model without convolutions learns as
// much from the averaged images, in a quarter of the time.
const (
	side, pooled = 28, 14
	digits       = 10
)

// pool averages an image of 28 by 28 pixels, with values from 0 to 1, and normalizes it.
func pool(to []float64, pixel func(x, y int) float64) {
	for y := range pooled {
		for x := range pooled {
			sum := pixel(2*x, 2*y) + pixel(2*x+1, 2*y) + pixel(2*x, 2*y+1) + pixel(2*x+1, 2*y+1)
			to[y*pooled+x] = (sum/4 - 0.1307) / 0.3081
		}
	}
}

// images generates a data set with the shape of MNIST: ten classes of images with 28 by 28 pixels.
// The images of a class show noise and five blobs. The places and sizes of the blobs vary from
// image to image.
func images(o experiment.Options, train, test int) *dataset {
	type blob struct{ x, y, width float64 }
	var classes [digits][5]blob
	random := o.Random("classes of images")
	for i := range classes {
		for j := range classes[i] {
			classes[i][j] = blob{6 + 16*random.Float64(), 6 + 16*random.Float64(), 1.5 + 1.5*random.Float64()}
		}
	}
	draw := func(n int, random *rand.Rand) part {
		p := newPart(n, pooled*pooled)
		var image [side][side]float64
		for i := range n {
			class := random.IntN(digits)
			p.classes[i] = uint8(class)
			for y := range image {
				for x := range image[y] {
					image[y][x] = 0.15 * random.NormFloat64()
				}
			}
			shiftX, shiftY := random.NormFloat64(), random.NormFloat64()
			for _, b := range classes[class] {
				var columns [side]float64
				centreX, centreY := b.x+shiftX+1.5*random.NormFloat64(), b.y+shiftY+1.5*random.NormFloat64()
				width := b.width * math.Exp(0.2*random.NormFloat64())
				for x := range columns {
					columns[x] = math.Exp(-math.Pow((float64(x)-centreX)/width, 2) / 2)
				}
				for y := range image {
					line := math.Exp(-math.Pow((float64(y)-centreY)/width, 2) / 2)
					for x, column := range columns {
						image[y][x] += line * column
					}
				}
			}
			pool(row(p.x, i), func(x, y int) float64 { return min(max(image[y][x], 0), 1) })
		}
		return p
	}
	return &dataset{"synthetic images", draw(train, o.Random("images")), draw(test, o.Random("images to test")),
		pooled * pooled, digits}
}

// A record of the census has censusNumbers numbers, and one attribute for each entry of
// censusCategories. An entry is the attribute's number of possible values.
var (
	censusNumbers    = 6
	censusCategories = []int{8, 16, 7, 14, 6, 5, 2, 41}
)

// census generates a data set with the shape of Adult. A record has six numbers, eight attributes
// and a class. Attributes have a few possible values, of which some are rare. About a quarter of
// the records are of class 1; the numbers and attributes predict the class only in part.
func census(o experiment.Options, train, test int) *dataset {
	inputs := censusNumbers
	for _, n := range censusCategories {
		inputs += n
	}
	random, weights := o.Random("weights of the census"), make([]float64, inputs)
	for i := range weights {
		weights[i] = 1.2 * random.NormFloat64()
		if i < censusNumbers {
			weights[i] *= 3
		}
	}
	draw := func(n int, random *rand.Rand) (p part, scores []float64) {
		p = newPart(n, inputs)
		for i := range n {
			x, column := row(p.x, i), censusNumbers
			for j := range censusNumbers {
				x[j] = 1 / (1 + math.Exp(-random.NormFloat64()))
			}
			for _, values := range censusCategories {
				x[column+int(float64(values)*math.Pow(random.Float64(), 3))] = 1
				column += values
			}
			score := 0.0
			for j, w := range weights {
				score += w * x[j]
			}
			scores = append(scores, score)
		}
		return p, scores
	}
	label := func(p part, scores []float64, from float64, random *rand.Rand) part {
		for i, s := range scores {
			if random.Float64() < 1/(1+math.Exp(from-s)) {
				p.classes[i] = 1
			}
		}
		return p
	}
	p, scores := draw(train, o.Random("census"))
	from := quantile(scores, 0.8)
	q, others := draw(test, o.Random("census to test"))
	return &dataset{"synthetic census", label(p, scores, from, o.Random("incomes")), label(q, others, from,
		o.Random("incomes to test")), inputs, 2}
}

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1))]
}
