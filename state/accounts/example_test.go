package accounts_test

import (
	"fmt"
	"log"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

func ExampleAccount() {
	b, err := budgets.NewBudget(1, 1e-6, budgets.GDP, 0)
	if err != nil {
		log.Fatal(err)
	}
	top, _ := units.PrecisionFromSigma(20)
	stopped, _ := units.PrecisionFromSigma(100)
	worst, _ := units.Charge(3, top)
	actual, _ := units.Charge(3, stopped)

	var a accounts.Account
	if err := a.Reserve(b, worst); err != nil {
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
