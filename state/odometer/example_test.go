package odometer_test

import (
	"fmt"
	"log"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
)

// Two counts are released by noise reduction, each to the accuracy its reader
// wanted. Where they stopped was not known before; what they lost is claimed now.
func ExampleBasic() {
	total, err := odometer.NewBasic(1e-6)
	if err != nil {
		log.Fatal(err)
	}
	boundary, err := odometer.NewMixtureFor(5e-7, 400) // half of the δ each
	if err != nil {
		log.Fatal(err)
	}
	for _, stopped := range []float64{2500, 100} { // the variances
		l, err := boundary.At(1, stopped)
		if err != nil {
			log.Fatal(err)
		}
		if err := total.Record(l); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("realised loss at most %.3f, but for a probability of %g\n", total.Bound().Epsilon, total.Bound().Delta)
	// Output:
	// realised loss at most 0.715, but for a probability of 1e-06
}

// A long run of Gaussian releases, each of a precision chosen from the last
// answers: the realised loss grows like the root of their number.
func ExampleConcentrated() {
	o, err := odometer.NewConcentrated(1e-6, 0.5)
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

// The tracker of many filters: what was released while it said m steps is m·Δ-private.
func ExampleTracker() {
	step, err := filter.NewApproxZCDP(0.1, 0)
	if err != nil {
		log.Fatal(err)
	}
	tracker := odometer.NewTracker(step)
	for _, rho := range []float64{0.0625, 0.03125, 0.0625, 0.0625, 0.09375} {
		if err := tracker.Record(loss.ZCDP{Rho: rho}); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d ", tracker.Bound())
	}
	fmt.Println()
	// Output:
	// 1 1 2 3 4
}
