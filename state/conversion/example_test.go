package conversion_test

import (
	"fmt"
	"log"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Gaussian noise of σ = 4 on a sum to which an individual adds at most 1, released ten
// times: what is promised at δ = 1e-6, by the exact curve and by two that lose something.
func Example() {
	g := loss.GDP{Mu: 0.7905694150420949} // √10/4
	exact, err := conversion.GDPToEpsilon(g, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	z, err := conversion.GDPToZCDP(g)
	if err != nil {
		log.Fatal(err)
	}
	zcdp, err := conversion.ApproxZCDPToEpsilon(z, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	r, err := conversion.GDPToRDP(g, []float64{2, 4, 8, 16, 32})
	if err != nil {
		log.Fatal(err)
	}
	rdp, err := conversion.RDPToEpsilon(r, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("gdp %.4f zcdp %.4f rdp %.4f\n", exact, zcdp, rdp)
	// Output:
	// gdp 3.7472 zcdp 4.0103 rdp 4.0430
}

// zCDP that holds but for an event of probability 1e-7.
func ExampleApproxZCDPToEpsilon() {
	z := loss.ZCDP{Rho: 0.02, Delta: 1e-7}
	epsilon, err := conversion.ApproxZCDPToEpsilon(z, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	back, err := conversion.ApproxZCDPToDelta(z, epsilon)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ε = %.6f, δ = %.6g\n", epsilon, back)
	// Output:
	// ε = 0.904494, δ = 1e-06
}

// Laplace noise of scale 2 on a sum is 0.5-DP: as zCDP and as a Gaussian.
func ExamplePureToZCDP() {
	z, err := conversion.PureToZCDP(0.5)
	if err != nil {
		log.Fatal(err)
	}
	g, err := conversion.PureToGDP(0.5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ρ = %.6f, μ = %.6f\n", z.Rho, g.Mu)
	// Output:
	// ρ = 0.122459, μ = 0.623893
}
