package accounting_test

import (
	"errors"
	"fmt"
	"log"
	"maps"

	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// An analyst chooses the ε of the next query from the results so far. A query that does not fit
// does not run; a cheaper one still may.
func ExampleNewBasic() {
	f, err := accounting.NewBasic(loss.Approx{Epsilon: 1, Delta: 1e-6})
	if err != nil {
		log.Fatal(err)
	}
	for _, epsilon := range []float64{0.5, 0.75, 0.25} {
		switch err := f.Spend(loss.Approx{Epsilon: epsilon}); {
		case errors.Is(err, accounting.ErrExceeded):
			fmt.Println(epsilon, "is refused, left", f.Left().Epsilon)
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(epsilon, "may run")
		}
	}
	// Output:
	// 0.5 may run
	// 0.75 is refused, left 0.5
	// 0.25 may run
}

// A filter outlives the process: its state is stored after every Spend and before the mechanism
// runs, and resumed at the next start.
func ExampleFilter_MarshalBinary() {
	budget := loss.Approx{Epsilon: 1, Delta: 1e-6}
	f, err := accounting.NewGaussianFor(budget)
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Spend(loss.GDP{Mu: 0.1}); err != nil {
		log.Fatal(err)
	}
	stored, err := f.MarshalBinary() // write it to a file or a database, then run the mechanism
	if err != nil {
		log.Fatal(err)
	}

	resumed, err := accounting.NewGaussianFor(budget)
	if err := errors.Join(err, resumed.UnmarshalBinary(stored)); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("spent %.4f of %.4f, left %.4f\n", resumed.Spent().Mu, resumed.Budget().Mu, resumed.Left().Mu)
	// Output:
	// spent 0.1000 of 0.2367, left 0.2145
}

// Two counts are released by noise reduction, each to the accuracy its reader wanted. Their losses
// were not known before.
func ExampleNewBasicOdometer() {
	total, err1 := accounting.NewBasicOdometer(1e-6)
	boundary, err2 := accounting.NewMixtureFor(5e-7, 400) // half of the δ each
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	for _, stopped := range []float64{2500, 100} { // the variances
		l, err := boundary.At(1, stopped)
		if err := errors.Join(err, total.Record(l)); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("realised loss at most %.3f, but for a probability of %g\n", total.Bound().Epsilon, total.Bound().Delta)
	// Output:
	// realised loss at most 0.715, but for a probability of 1e-06
}

// A long run of Gaussian releases, each of a precision chosen from the last results: the realised
// loss grows like the root of their number.
func ExampleNewConcentratedOdometer() {
	o, err := accounting.NewConcentratedOdometer(1e-6, 0.5)
	if err != nil {
		log.Fatal(err)
	}
	for release := 1; release <= 10000; release++ {
		if err := o.Record(loss.ZCDP{Rho: 0.00005}); err != nil { // σ = 100
			log.Fatal(err)
		}
		if release == 100 || release == 1000 || release == 10000 {
			fmt.Printf("%d releases: %.3f\n", release, o.Bound().Epsilon)
		}
	}
	// Output:
	// 100 releases: 1.090
	// 1000 releases: 2.009
	// 10000 releases: 6.166
}

// Each round has Gaussian noise; a user's loss is the norm of their own part over σ.
func ExamplePerUser() {
	budget, err := accounting.NewGaussian(1)
	if err != nil {
		log.Fatal(err)
	}
	users, err := accounting.NewPerUser[string](accounting.ForRound, budget)
	if err != nil {
		log.Fatal(err)
	}
	for round := range 3 {
		active, err := users.Round(maps.All(map[string]loss.GDP{"ann": {Mu: 0.2}, "bob": {Mu: 0.6}}))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(round, "active:", len(active.Users))
	}
	fmt.Printf("left: ann %.3f, bob %.3f\n", users.Left("ann").Mu, users.Left("bob").Mu)
	// Output:
	// 0 active: 2
	// 1 active: 2
	// 2 active: 1
	// left: ann 0.938, bob 0.529
}
