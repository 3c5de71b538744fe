package deployment

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// What users pay for five quantiles of evenly spread values, on average, in multiples of c²·u: u is
// the precision of a node. A rank whose quantile lies on an edge between two nodes draws both.
func TestFiveQuantilesCostAboutTwoLevels(t *testing.T) {
	const values, releases = 32_768, 100
	random := rand.New(runseed.PCG(t, 7, 5))
	for _, c := range []struct {
		name        string
		upTo        int64 // of values from 0 to 32,767
		least, most float64
	}{
		{"ranks inside of nodes", 30_000, 1.85, 1.95},
		{"three of five ranks on an edge", values, 2.2, 2.35},
	} {
		scale, err := metrickind.Linear(metrickind.Bounds{Max: values - 1})
		if err != nil {
			t.Fatal(err)
		}
		count := func(n metrickind.Node) float64 {
			least, greatest := scale.Values(n)
			return float64(max(0, min(greatest+1, c.upTo)-least))
		}
		paid := 1.0 / metrickind.NodesFiner * releases // the number of events
		for range releases {
			s := metrickind.Search{Scale: scale, Square: big.NewRat(9, 1), Events: big.NewRat(c.upTo, 1), Draw: func(parent metrickind.Node) (of [metrickind.Branching]*big.Int, _ error) {
				for i := range of {
					of[i] = big.NewInt(int64(math.Round(count(parent.Child(i)) + random.NormFloat64())))
				}
				return of, nil
			}}
			if _, err := s.Begin(); err != nil {
				t.Fatal(err)
			}
			for _, rank := range []int64{100_000, 250_000, 500_000, 750_000, 900_000} {
				if _, _, err := s.Quantile(rank, 0); err != nil {
					t.Fatal(err)
				}
			}
			for _, parent := range s.Drawn() {
				paid += count(parent) / float64(c.upTo)
			}
		}
		paid /= releases
		t.Logf("%s: %.2f of c²·u, and %.3f are reserved", c.name, paid, float64(scale.Levels())+1.0/metrickind.NodesFiner)
		if paid < c.least || paid > c.most {
			t.Errorf("%s: users pay %.3f, want %.2f to %.2f", c.name, paid, c.least, c.most)
		}
	}
}
