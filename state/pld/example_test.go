package pld_test

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/state/pld"
)

// A hundred Gaussian releases on Poisson samples and two full Laplace releases.
func Example() {
	sampled, err := pld.New(pld.SubsampledGaussian{Sigma: 1, Sampling: 0.05}, pld.Options{MinDelta: 1e-9})
	if err != nil {
		fmt.Println(err)
		return
	}
	laplace, err := pld.New(pld.Laplace{Scale: 5}, pld.Options{MinDelta: 1e-9})
	if err != nil {
		fmt.Println(err)
		return
	}
	hundred, err := sampled.Power(100)
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := hundred.Compose(laplace, laplace)
	if err != nil {
		fmt.Println(err)
		return
	}
	epsilon, err := all.EpsilonAt(1e-6)
	if err != nil {
		fmt.Println(err)
		return
	}
	delta, err := all.DeltaAt(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("epsilon %.3f at delta 1e-6, delta %.2e at epsilon 2\n", epsilon, delta)
	// Output: epsilon 4.270 at delta 1e-6, delta 2.86e-03 at epsilon 2
}
