package state_test

import (
	"fmt"
	"log"

	"github.com/tollgate-dp/tollgate/state"
)

func ExampleReleasesBeforeRefusal() {
	for _, a := range []state.Accountant{state.GDP, state.ZCDP, state.RDP} {
		b, err := state.NewBudget(1, 1e-6, a, 0)
		if err != nil {
			log.Fatal(err)
		}
		n, err := state.ReleasesBeforeRefusal(b, 100, 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(a, b.Mu2, n)
	}
	// Output:
	// gdp 61604497218 560
	// zcdp 53559345232 487
	// rdp 53559345232 487
}

// One turn of one user: the worst case is reserved before anything is drawn; once the
// ladder has stopped, the precision it reached is charged and the rest returned.
func ExampleAccount() {
	b, err := state.NewBudget(1, 1e-6, state.GDP, 0)
	if err != nil {
		log.Fatal(err)
	}
	top, _ := state.PrecisionFromSigma(20)
	stopped, _ := state.PrecisionFromSigma(100)
	worst, _ := state.Charge(3, top)
	actual, _ := state.Charge(3, stopped)

	var a state.Account
	if err := a.Reserve(b, worst, state.Delta{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("reserved", a.Reserved)
	if err := a.Settle(worst, actual); err != nil {
		log.Fatal(err)
	}
	fmt.Println("spent", a.Spent)
	// Output:
	// reserved 24739011625
	// spent 989560465
}

func ExampleConvertEpsilonDelta() {
	c, err := state.ConvertEpsilonDelta(1, 1e-6, state.GDP)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mu %.6f rho %.6f\n", c.Mu, c.Rho)
	// Output:
	// mu 0.236704 rho 0.028014
}
