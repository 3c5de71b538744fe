package noisereduction

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Outcome is a forecast of a release. It is not protected, and never published.
type Outcome struct {
	Passed    bool            // see Result; if false, only Precision is set
	Met       bool            // see Result
	Error     float64         // value minus count
	Half      float64         // half of the width of the printed interval
	Precision units.Precision // see Result
}

// Imitate imitates Release in floating point, with standard normal numbers from normal. Except for
// rounding, outcomes have the same distribution as the results of Release. It allocates nothing,
// and is safe for concurrent use if normal is.
func (p *Plan) Imitate(count float64, normal func() float64) Outcome {
	before, sum := 0.0, 0.0 // u, and u·(est − count)
	index := 0
	for rung := 1; ; rung++ {
		r := &p.rungs[index]
		root := 1 / r.deviation // √u
		u := root * root
		sum += math.Sqrt(max(0, u-before)) * normal()
		before = u
		noise := sum / u
		if rung == 1 && p.threshold != nil && count+noise <= p.limit {
			return Outcome{Precision: r.precision}
		}
		score := int64(max(-math.MaxInt64/2, min(math.Ldexp((count+noise)*root, scoreBits), math.MaxInt64/2)))
		last := index == len(p.rungs)-1
		if met := score >= p.barrier || last && p.floorMet; met || last {
			return Outcome{Passed: true, Met: met, Error: noise, Half: math.Ldexp(float64(r.half), -valueBits),
				Precision: r.precision}
		}
		index = min(index+p.jump(score), len(p.rungs)-1)
	}
}
