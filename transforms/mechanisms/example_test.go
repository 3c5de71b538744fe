package mechanisms_test

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// The examples leave out errors that their constants cannot cause. A filter is asked before a
// mechanism runs. In production the Source is new(mechanisms.System).
func ExampleGaussian() {
	gaussian, _ := mechanisms.NewGaussian(10)
	budget, _ := accounting.NewGaussian(0.18)
	src := mechanisms.NewKeyed([32]byte{1}, []byte("example"))
	for {
		price, _ := gaussian.GDP(1) // one individual changes the count by 1
		if err := budget.Spend(price); err != nil {
			fmt.Println(err)
			return
		}
		y, _ := gaussian.Release(1234, src)
		fmt.Printf("%.2f for mu %.2f\n", y, price.Mu)
	}
	// Output:
	// 1218.41 for mu 0.10
	// 1221.27 for mu 0.10
	// 1246.53 for mu 0.10
	// loss does not fit what is left of the budget
}

// The most popular of four pages. One user adds at most 1 to each count: the swing is 1.
func ExampleExponential() {
	exponential, _ := mechanisms.NewExponential(10)
	price, _ := exponential.ZCDP(1)
	src := mechanisms.NewKeyed([32]byte{1}, []byte("example"))
	best, _ := exponential.Select([]int64{120, 310, 295, 8}, src)
	fmt.Printf("page %d for rho %.5f\n", best, price.Rho)
	// Output: page 1 for rho 0.00125
}

// Which days had about 1000 users or more? The days below are free.
func ExampleSparseVector() {
	sparse, _ := mechanisms.NewSparseVector(8, 16, 3)
	src := mechanisms.NewKeyed([32]byte{1}, []byte("example"))
	search, _ := sparse.Begin(1000, src)
	for day, users := range []float64{700, 650, 1300, 720, 810, 690} {
		above, _ := search.Above(users, src)
		if above {
			fmt.Println("day", day)
		}
	}
	worst, _ := sparse.WorstMonotone(1)
	realised, _ := search.PriceMonotone(1)
	fmt.Printf("paid %.4f of %.4f\n", realised.Epsilon, worst.Epsilon)
	// Output:
	// day 2
	// paid 0.1875 of 0.3125
}
