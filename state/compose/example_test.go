package compose_test

import (
	"fmt"
	"log"

	"github.com/tollgate-dp/tollgate/state/compose"
)

// 500 releases with Gaussian noise of σ = 100, each with a contribution of at most 1: their cost at
// δ = 1e-6 by each accountant.
func Example() {
	noise, err := compose.Gaussian(100, 1)
	if err != nil {
		log.Fatal(err)
	}
	if noise, err = noise.Times(500); err != nil {
		log.Fatal(err)
	}
	list := []compose.Mechanism{noise}
	question, err := compose.EpsilonAt(1e-6)
	if err != nil {
		log.Fatal(err)
	}
	best, _, err := compose.Best(list, question)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: ε = %.3f at δ = %v\n", best.Accountant.Name(), best.Loss.Epsilon, best.Loss.Delta)

	verdicts, err := compose.Compare(list, question)
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range verdicts {
		if v.NotApplicable == nil {
			fmt.Printf("%s %.2f\n", v.Accountant.Name(), v.Loss.Epsilon)
		}
	}
	// Output:
	// gdp: ε = 0.941 at δ = 1e-06
	// gdp 0.94
	// pld 0.94
	// zcdp 1.01
	// rdp 1.01
	// advanced 9.50
	// basic 23.77
}
