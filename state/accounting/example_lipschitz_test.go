package accounting_test

import (
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// A grid publishes the norm ‖(x_1, …, x_n)‖ of what households draw at each of 50 moments. The norm
// of a vector changes by at most |x_i| if coordinate i becomes 0: it is 1-Lipschitz in each. So a
// household pays for its own draw, whatever the others draw (Feldman and Zrnic, 2021, Example 2.8).
func Example_lipschitz() {
	draws := map[string]float64{"farm": 30, "house": 10, "flat": 5} // kW, at every moment
	budget, err1 := accounting.NewGaussian(1)
	households, err2 := accounting.NewPerUser[string](accounting.ForGood, budget)
	noise, err3 := mechanisms.NewGaussian(100)
	if err := errors.Join(err1, err2, err3); err != nil {
		log.Fatal(err)
	}
	moments := map[string]int{}
	for range 50 {
		active, err := households.Round(func(yield func(string, loss.GDP) bool) {
			for name, draw := range draws {
				// A relative 2^-40 covers the rounding of the norm in float64.
				price, err := noise.Lipschitz(1, rounding.ProductUp(draw, 1+0x1p-40))
				if err != nil || !yield(name, price) {
					return
				}
			}
		})
		if err != nil {
			log.Fatal(err)
		}
		squares := 0.0
		for _, name := range active.Users { // the others count as the origin, 0
			squares += draws[name] * draws[name]
			moments[name]++
		}
		if _, err := noise.Release(math.Sqrt(squares), new(mechanisms.System)); err != nil {
			log.Fatal(err)
		}
	}
	for _, name := range []string{"farm", "house", "flat"} {
		fmt.Printf("%s: %d moments, μ = %.3f\n", name, moments[name], households.Spent(name).Mu)
	}
	// Output:
	// farm: 11 moments, μ = 0.995
	// house: 50 moments, μ = 0.707
	// flat: 50 moments, μ = 0.354
}
