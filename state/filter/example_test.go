package filter_test

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// An analyst chooses the ε of the next query from the answers so far. What does not
// fit does not run; a cheaper query still may.
func ExampleBasic() {
	f, err := filter.NewBasic(loss.Approx{Epsilon: 1, Delta: 1e-6})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, epsilon := range []float64{0.5, 0.75, 0.25} {
		switch err := f.Spend(loss.Approx{Epsilon: epsilon}); {
		case errors.Is(err, filter.ErrExceeded):
			fmt.Println(epsilon, "is refused, left", f.Left().Epsilon)
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(epsilon, "may run")
		}
	}
	// Output:
	// 0.5 may run
	// 0.75 is refused, left 0.5
	// 0.25 may run
}

// Many small pure mechanisms: three halting rules on the same ones.
func ExampleAdvanced() {
	budget := loss.Approx{Epsilon: 1, Delta: 1e-6}
	basic, err := filter.NewBasic(budget)
	if err != nil {
		fmt.Println(err)
		return
	}
	advanced, err := filter.NewAdvanced(budget)
	if err != nil {
		fmt.Println(err)
		return
	}
	zcdp, err := filter.NewZCDP(budget)
	if err != nil {
		fmt.Println(err)
		return
	}
	var accepted [3]int
	for range 100_000 {
		const epsilon = 1.0 / 1024
		for i, err := range []error{
			basic.Spend(loss.Approx{Epsilon: epsilon}),
			advanced.Spend(loss.Approx{Epsilon: epsilon}),
			zcdp.Spend(loss.ZCDP{Rho: epsilon * epsilon / 2}),
		} {
			if err == nil {
				accepted[i]++
			}
		}
	}
	fmt.Println(accepted)
	// Output: [1024 15518 36634]
}

// A mechanism is charged at every order of the filter, and all must have room.
func ExampleRenyiOrders() {
	f, err := filter.NewRenyiOrders(loss.RDP{{Alpha: 2, Epsilon: 0.25}, {Alpha: 16, Epsilon: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	gaussian := loss.RDP{{Alpha: 2, Epsilon: 0.0625}, {Alpha: 16, Epsilon: 0.5}} // ρ = 1/32
	fmt.Println(f.Spend(gaussian), f.Spend(gaussian), f.Spend(gaussian))
	fmt.Println(f.Left())
	// Output:
	// <nil> <nil> loss does not fit what is left of the budget
	// [{2 0.125} {16 0}]
}

// Counts with Gaussian noise of σ = 100 under (1, 1e-6), each count changed by at
// most 1 by an individual: μ = 1/100.
func ExampleGDP() {
	f, err := filter.NewGDPFor(loss.Approx{Epsilon: 1, Delta: 1e-6})
	if err != nil {
		fmt.Println(err)
		return
	}
	releases := 0
	for f.Spend(loss.GDP{Mu: 0.01}) == nil {
		releases++
	}
	fmt.Println(releases)
	// Output: 560
}

// Laplace noise reduction bounds its loss by the ε of the answer at which it
// stopped: the worst case is reserved before, the realised one is charged.
func ExampleExPost() {
	f, err := filter.NewExPost(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	worst := loss.Approx{Epsilon: 0.75}
	if err := f.Reserve(worst); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("while it runs:", f.Left().Epsilon)
	if err := f.Settle(worst, loss.Approx{Epsilon: 0.125}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("after a stop at 0.125:", f.Left().Epsilon)
	// Output:
	// while it runs: 0.25
	// after a stop at 0.125: 0.875
}

// Brownian noise reduction beside an ordinary Gaussian release: sensitivity 1, noise
// of variance 8 at the last rung and 64 at the one where it stopped.
func ExampleUnified() {
	f, err := filter.NewUnified(0.125, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	last, stopped := loss.ZCDP{Rho: 1.0 / 16}, loss.ZCDP{Rho: 1.0 / 128}
	if err := f.Reserve(last); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a release of 3/32 beside it fits:", f.Fits(loss.ZCDP{Rho: 3.0 / 32}))
	if err := f.Settle(last, stopped); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("after it:", f.Fits(loss.ZCDP{Rho: 3.0 / 32}))
	// Output:
	// a release of 3/32 beside it fits: false
	// after it: true
}

// Both kinds of mechanism, each with a budget of its own.
func ExampleMixed() {
	f, err := filter.NewMixed(loss.Approx{Epsilon: 1, Delta: 1e-6}, 0, loss.Approx{Epsilon: 0.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Concentrated().Spend(loss.ZCDP{Rho: 0.01}))
	fmt.Println(f.ExPost().Reserve(loss.Approx{Epsilon: 0.75}))
	fmt.Println(f.Promise())
	// Output:
	// <nil>
	// loss does not fit what is left of the budget
	// {1.5 1e-06}
}

// A filter outlives the process: its state is stored after every Spend and before the mechanism
// runs, and resumed at the next start.
func ExampleGDP_MarshalBinary() {
	f, err := filter.NewGDPFor(loss.Approx{Epsilon: 1, Delta: 1e-6})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := f.Spend(loss.GDP{Mu: 0.1}); err != nil {
		fmt.Println(err)
		return
	}
	stored, err := f.MarshalBinary() // write it to a file or a database, then run the mechanism
	if err != nil {
		fmt.Println(err)
		return
	}

	var resumed filter.GDP
	if err := resumed.UnmarshalBinary(stored); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("spent %.4f of %.4f, left %.4f\n", resumed.Spent().Mu, resumed.Budget().Mu, resumed.Left().Mu)
	fmt.Println(resumed.Left() == f.Left())
	fmt.Println(resumed.UnmarshalBinary(stored)) // what is in use is never replaced
	// Output:
	// spent 0.1000 of 0.2367, left 0.2145
	// true
	// decoding filter.GDP: it is read into a value that has been used; take a new one
}
