package noisereduction_test

import (
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// A count is released within 5% with 95% confidence: the ladder starts at σ = 10,000, may go down
// to σ = 10, and stops as soon as it is accurate enough.
func Example() {
	first, err := units.PrecisionFromSigma(10_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	top, err := units.PrecisionFromSigma(10)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := noisereduction.Compile(noisereduction.Spec{
		Kind: noisereduction.Adaptive, First: first, Top: top,
		Target: noisereduction.Target{Relative: 0.05, Confidence: 0.95},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	key := noisereduction.NoiseKey{ID: "2026-a", Secret: secret.New([32]byte{1, 2, 3})} // 256 random bits, kept secret
	release, err := plan.Release(key, noisereduction.Identity{
		WindowStart: 1_767_225_600_000, WindowEnd: 1_767_229_200_000, Key: []byte("/home"),
	}, 12_345)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f, between %.0f and %.0f; σ = %.0f, target met: %v\n",
		float64(release.Value)/1024, release.Low, release.High, release.StdDev, release.Met)
	// Output: 12489, between 11862 and 13115; σ = 312, target met: true
}
