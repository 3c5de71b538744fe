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

// Randomised response for ε = 1/8 is worth ε = 50 when repeated 400 times, but far less for
// any δ.
func ExampleDistribution_EpsilonAt() {
	once, err := pld.New(pld.RandomizedResponse{Epsilon: 0.125, Values: 2}, pld.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	often, err := once.Power(400)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, delta := range []float64{1e-2, 1e-6, 1e-12} {
		epsilon, err := often.EpsilonAt(delta)
		fmt.Printf("%.0e %.2f %v\n", delta, epsilon, err)
	}
	// Output:
	// 1e-02 8.21 <nil>
	// 1e-06 14.33 <nil>
	// 1e-12 19.92 <nil>
}

// A grid on which vectors of different mechanisms can be convolved by hand.
func ExampleDiscretize() {
	grid := pld.Grid{Interval: 1, Lowest: -2, Size: 5}
	v, err := pld.Discretize(pld.Gaussian{Sigma: 1}, pld.Remove, grid)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, p := range v.Probabilities {
		fmt.Printf("%+.0f %.4f\n", v.Loss(i), p)
	}
	fmt.Printf("infinity %.4f\n", v.Infinity)
	// Output:
	// -2 0.0227
	// -1 0.1263
	// +0 0.3191
	// +1 0.3433
	// +2 0.1677
	// infinity 0.0209
}
