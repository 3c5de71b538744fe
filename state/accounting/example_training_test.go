package accounting_test

import (
	"fmt"
	"log"
	"math"

	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// A thousand users train a model of two parameters, the mean of their points. Gradients are
// clipped to 1 and quantised; each user pays the squared norm of their own, out of what twenty
// gradients of full length cost, which is enough for 40 steps of most of them. User 0 is far from
// all others: every gradient of theirs is clipped, and after twenty steps they are left out.
func Example_training() {
	const users, steps, rate, kappa = 1000, 40, 0.5, 0.5
	gradients, err := accounting.NewQuantiser(1, 1024)
	if err != nil {
		log.Fatal(err)
	}
	noise := mechanisms.DiscreteGaussianNoise(&mechanisms.System{})
	sums, err := accounting.NewLinearQueries[int](20*gradients.Bound(), kappa, accounting.ForRound, noise)
	if err != nil {
		log.Fatal(err)
	}
	point := func(user int) (x, y float64) {
		if user == 0 {
			return 100, 100
		}
		return float64(user%10) / 10, float64(user/10%10) / 10
	}
	model, quantised := []float64{1, 1}, []int64(nil)
	for range steps {
		sum, err := sums.Answer(len(model), func(yield func(int, []int64) bool) {
			for user := range users {
				x, y := point(user)
				q, _, err := gradients.Quantise(quantised, []float64{model[0] - x, model[1] - y})
				if err != nil {
					continue // not finite: the user is not in this step
				}
				if quantised = q; !yield(user, q) {
					return
				}
			}
		})
		if err != nil {
			log.Fatal(err)
		}
		for j, g := range gradients.Real(sum) {
			model[j] -= rate * g / users
		}
	}
	fmt.Printf("every user: %v-zCDP, noise of σ = %.2f on a sum\n", sums.Kappa(), sums.Sigma()/1024)
	fmt.Println("near the mean:", math.Hypot(model[0]-0.45, model[1]-0.45) < 0.05)
	fmt.Println("user 0 is left out:", sums.Left(0) < gradients.Bound()/2)
	fmt.Println("user 7 could go on:", sums.Left(7) > 5*gradients.Bound())
	// Output:
	// every user: 0.5-zCDP, noise of σ = 4.47 on a sum
	// near the mean: true
	// user 0 is left out: true
	// user 7 could go on: true
}
