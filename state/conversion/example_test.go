package conversion_test

import (
	"fmt"
	"log"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Gaussian noise of σ = 4 on a sum with contributions of at most 1, released ten times: its ε at δ
// = 1e-6, by the exact curve and by two looser ones.
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
