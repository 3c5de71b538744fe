package continual_test

import (
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/continual"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// A daily count of all visits since the year began: 1,000 users visit once a week, one visits every
// day.
func ExampleCounter() {
	const days, users, sigma = 365, 1000, 100
	matrix, err := continual.NewRoot(days)
	if err != nil {
		log.Fatal(err)
	}
	budget, err := conversion.GDPWithin(loss.Approx{Epsilon: 3, Delta: 1e-6})
	if err != nil {
		log.Fatal(err)
	}
	accounts := make([]*continual.Account, users)
	for user := range accounts {
		if accounts[user], err = continual.NewAccount(matrix, sigma, budget); err != nil {
			log.Fatal(err)
		}
	}
	counter, err := continual.NewCounter(matrix, sigma, mechanisms.GaussianNoise(&mechanisms.System{}))
	if err != nil {
		log.Fatal(err)
	}
	counted, estimate := int64(0), 0.0
	for day := range days {
		today := int64(0)
		for user, account := range accounts {
			if user > 0 && (user+day)%7 != 0 {
				continue
			}
			switch err := account.Spend(continual.Contribution{Step: day, Count: 1}); {
			case err == nil:
				today++
			case !errors.Is(err, accounting.ErrExceeded):
				log.Fatal(err)
			}
		}
		counted += today
		if estimate, err = counter.Next(today); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("counts of user 0:", len(accounts[0].Admitted()), "of user 1:", len(accounts[1].Admitted()))
	fmt.Println("within 1000 of", counted, "at the end:", math.Abs(estimate-float64(counted)) < 1000)
	fmt.Printf("σ of the last estimate: %.1f\n", sigma*math.Sqrt(matrix.Variance(days-1)))
	// Output:
	// counts of user 0: 53 of user 1: 52
	// within 1000 of 52143 at the end: true
	// σ of the last estimate: 171.6
}
