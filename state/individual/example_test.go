package individual_test

import (
	"fmt"
	"log"
	"maps"
	"math"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/individual"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// A platform asks every day how many users did something, and decides by the answer
// what to ask next. Most users do little, so that a budget of four activities each
// answers any number of days.
func ExampleLinearQueries() {
	noise := mechanisms.GaussianNoise(&mechanisms.System{})
	const budget = 4 // Σ‖q(x)‖²: four activities of a yes-or-no question
	queries, err := individual.NewLinearQueries[int](budget, 0.5, individual.ForRound, noise)
	if err != nil {
		log.Fatal(err)
	}
	radius, err := queries.Radius(1, 1e-9)
	if err != nil {
		log.Fatal(err)
	}

	const users = 1000
	near, days := 0, 30
	for day := range days {
		answer, err := queries.Answer(1, func(yield func(int, []int64) bool) {
			for user := range users {
				active := int64(0)
				if user%30 == day || user == 0 { // user 0 is active every day
					active = 1
				}
				if !yield(user, []int64{active}) {
					return
				}
			}
		})
		if err != nil {
			log.Fatal(err)
		}
		truth := 34.0 // of those whose activities fit their budgets
		switch {
		case day >= 10:
			truth = 33
		case day > 0 && day < 4:
			truth = 35
		}
		if math.Abs(answer[0]-truth) <= radius {
			near++
		}
	}
	fmt.Printf("noise of σ = %.0f, κ = %v\n", queries.Sigma(), queries.Kappa())
	fmt.Printf("%d of %d days within %.1f of the truth\n", near, days, radius)
	fmt.Printf("left: user 0 %d, user 7 %d\n", queries.Left(0), queries.Left(7))
	// Output:
	// noise of σ = 2, κ = 0.5
	// 30 of 30 days within 13.1 of the truth
	// left: user 0 0, user 7 3
}

func ExampleFilter() {
	budget, err := filter.NewGDP(1)
	if err != nil {
		log.Fatal(err)
	}
	users, err := individual.New[string](individual.ForRound, budget)
	if err != nil {
		log.Fatal(err)
	}
	// Each round a gradient with Gaussian noise of σ = 10; a user's loss is the norm
	// of their own part of it over σ.
	norms := map[string]float64{"ann": 2, "bob": 6}
	for round := range 4 {
		active, err := users.Round(func(yield func(string, loss.GDP) bool) {
			for _, user := range []string{"ann", "bob"} {
				if !yield(user, loss.GDP{Mu: norms[user] / 10}) {
					return
				}
			}
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(round, active.Users)
	}
	fmt.Printf("left: ann %.3f, bob %.3f\n", users.Left("ann").Mu, users.Left("bob").Mu)
	// Output:
	// 0 [ann bob]
	// 1 [ann bob]
	// 2 [ann]
	// 3 [ann]
	// left: ann 0.917, bob 0.529
}

// Users who are named by strings, with an (ε, δ) for each; their accounts are stored
// between two rounds.
func ExampleNewGDPFor() {
	budget := loss.Approx{Epsilon: 1, Delta: 1e-6}
	users, err := individual.NewGDPFor(individual.ForRound, budget)
	if err != nil {
		log.Fatal(err)
	}
	losses := map[string]loss.GDP{"ann": {Mu: 0.2}, "bob": {Mu: 0.02}}
	if _, err := users.Round(maps.All(losses)); err != nil {
		log.Fatal(err)
	}
	stored, err := users.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}

	resumed, err := individual.NewGDPFor(individual.ForRound, budget)
	if err != nil {
		log.Fatal(err)
	}
	if err := resumed.UnmarshalBinary(stored); err != nil {
		log.Fatal(err)
	}
	active, err := resumed.Round(maps.All(losses))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(active.Users)
	fmt.Printf("ann spent %.3f, bob %.3f, of %.3f each\n", resumed.Spent("ann").Mu, resumed.Spent("bob").Mu, resumed.Budget().Mu)
	// Output:
	// [bob]
	// ann spent 0.200, bob 0.028, of 0.237 each
}
