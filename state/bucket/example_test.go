package bucket_test

import (
	"fmt"
	"log"

	"github.com/tollgate-dp/tollgate/state/bucket"
)

// The loss of one user from sampled releases with unequal contributions.
func ExampleCurve() {
	levels, err := bucket.NewGeometricLadder(1, 16, 9)
	if err != nil {
		log.Fatal(err)
	}
	pairs, err := levels.Pairs(0.02)
	if err != nil {
		log.Fatal(err)
	}
	table, err := bucket.NewTable(pairs, bucket.Options{Interval: 0x1p-9, Points: 1 << 13})
	if err != nil {
		log.Fatal(err)
	}
	user := table.NewCounts()
	for i := range 500 {
		noise, err := bucket.NoiseFor(2, 0.25+float64(i%8)/8) // noise of σ = 2, contributions from 0.25 to 1.125
		if err != nil {
			log.Fatal(err)
		}
		bucket, err := levels.Bucket(noise.Sigma)
		if err != nil {
			log.Fatal(err)
		}
		if err := user.Add(bucket); err != nil {
			log.Fatal(err)
		}
	}
	curve := table.NewCurve()
	if err := curve.Set(user); err != nil {
		log.Fatal(err)
	}
	epsilon, err := curve.EpsilonAt(1e-6)
	if err != nil {
		log.Fatal(err)
	}
	mu, err := curve.SmallestMu(1e-9)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("epsilon %.2f at delta 1e-6; covered by %.3f-GDP\n", epsilon, mu)
	// Output: epsilon 1.10 at delta 1e-6; covered by 0.267-GDP
}
