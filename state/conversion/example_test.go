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

// A mechanism whose divergence of order 8 is 0.1: what an optimal conversion saves.
func ExampleOptimalRDPToEpsilon() {
	r := loss.RDP{{Alpha: 8, Epsilon: 0.1}}
	simple, err := conversion.RDPToEpsilon(r, 1e-3)
	if err != nil {
		log.Fatal(err)
	}
	optimal, err := conversion.OptimalRDPToEpsilon(r, 1e-3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.6f %.6f\n", simple, optimal)
	// Output:
	// 0.656228 0.563174
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

// Two (ε, δ) guarantees of one mechanism imply others between them, and what a test of
// level 5 % may find out.
func ExampleFromApprox() {
	f, err := conversion.FromApprox(loss.Approx{Epsilon: 0.5, Delta: 1e-3}, loss.Approx{Epsilon: 2, Delta: 1e-9})
	if err != nil {
		log.Fatal(err)
	}
	delta, err := f.ToDelta(1)
	if err != nil {
		log.Fatal(err)
	}
	beta, err := f.TypeIIAt(0.05)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("δ(1) = %.6f, power at 5 %%: %.4f\n", delta, 1-beta)
	// Output:
	// δ(1) = 0.000814, power at 5 %: 0.0834
}

// Points at which a trade-off curve was measured promise less than the lines through
// them: in between nothing is known but that the curve is convex.
func ExampleFromPoints() {
	measured := []conversion.Point{{Alpha: 0.05, Beta: 0.74}, {Alpha: 0.3, Beta: 0.31}, {Alpha: 0.7, Beta: 0.06}}
	f, err := conversion.FromPoints(measured)
	if err != nil {
		log.Fatal(err)
	}
	delta, err := f.ToDelta(1)
	if err != nil {
		log.Fatal(err)
	}
	drawn, err := conversion.FromCorners(append(measured, conversion.Point{Alpha: 0, Beta: 1}))
	if err != nil {
		log.Fatal(err)
	}
	g, err := drawn.ToGDP()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("δ(1) = %.4f; as corners: μ = %.4f\n", delta, g.Mu)
	// Output:
	// δ(1) = 0.2907; as corners: μ = 1.0304
}
