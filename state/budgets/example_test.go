package budgets_test

import (
	"fmt"
	"log"

	"github.com/tollgate-dp/tollgate/state/budgets"
)

// One turn of one user: the worst case is reserved before anything is drawn; once the
// ladder has stopped, the precision it reached is charged and the rest returned.
func ExampleConvertEpsilonDelta() {
	c, err := budgets.ConvertEpsilonDelta(1, 1e-6, budgets.GDP)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mu %.6f rho %.6f\n", c.Mu, c.Rho)
	// Output:
	// mu 0.236704 rho 0.028014
}

func ExampleReleasesBeforeRefusal() {
	for _, a := range budgets.Accountants() {
		b, err := budgets.NewBudget(1, 1e-6, a, 0)
		if err != nil {
			log.Fatal(err)
		}
		n, err := budgets.ReleasesBeforeRefusal(b, 100, 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(a, b.Mu2, n)
	}
	// Output:
	// gdp 61604497218 560
	// zcdp 53559345232 487
}
