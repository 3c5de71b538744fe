package metrickind

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// The estimates of a node's children add up to the node's, are not negative, and no other such
// numbers are nearer to the draws: to move one unit from one child to another makes the sum of
// squared differences greater.
func TestEstimatesOfChildrenAreTheNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var drawn [Branching]*big.Int
		for i := range drawn {
			drawn[i] = big.NewInt(rapid.Int64Range(-20, 20).Draw(t, "draw"))
		}
		const factor = 840
		n := factor * rapid.Int64Range(0, 60).Draw(t, "n")
		parts := divide(big.NewInt(n), &drawn, big.NewInt(factor))
		sum, squares := int64(0), int64(0)
		for i, p := range parts {
			off := p.Int64() - factor*drawn[i].Int64()
			sum, squares = sum+p.Int64(), squares+off*off
			if p.Sign() < 0 {
				t.Fatalf("%v of %v: %v", n, drawn, parts)
			}
		}
		if sum != n {
			t.Fatalf("%v of %v: %v add up to %d", n, drawn, parts, sum)
		}
		for i := range parts {
			for j := range parts {
				from, to := parts[i].Int64()-factor*drawn[i].Int64(), parts[j].Int64()-factor*drawn[j].Int64()
				if moved := squares - from*from - to*to + (from-1)*(from-1) + (to+1)*(to+1); i != j &&
					parts[i].Sign() > 0 && moved < squares {
					t.Fatalf("%v of %v: %v is no minimum: from %d to %d", n, drawn, parts, i, j)
				}
			}
		}
	})
}
