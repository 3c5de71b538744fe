package reference

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Substitution is a removal and an addition: one individual's records become others. The difference
// of every count is then within the sum of both contributions, and √(Σ d²·u) within the sum of what
// both paid, that is twice the Gaussian parameter B.
func TestRuleSubstitutingAUserIsTwiceTheParameter(t *testing.T) {
	config, err := Compile(mixed())
	if err != nil {
		t.Fatal(err)
	}
	checkOften(t, func(t *rapid.T) {
		c := drawAllowances(t, config)
		seed := rapid.Uint64().Draw(t, "path")
		var others, before, after []visit
		for _, v := range drawVisits(t) {
			if v.user != "u" {
				others = append(others, v)
			}
		}
		for _, v := range drawVisits(t) {
			v.user = "u"
			if rapid.Bool().Draw(t, "before") {
				before = append(before, v)
			} else {
				after = append(after, v)
			}
		}
		one, rest := neighbours(t, c, seed, append(before, others...), others, 30)
		two, _ := neighbours(t, c, seed, append(after, others...), others, 30)
		type cell struct {
			turn   uint64
			metric int
			key    string
		}
		counts := map[cell]int64{}
		precisions := map[cell]*big.Int{}
		for _, d := range rest.Draws { // keys that only u has are the part that δ pays for
			counts[cell{d.Turn, d.Metric, d.Key}] = 0
			precisions[cell{d.Turn, d.Metric, d.Key}] = d.Precision
		}
		for sign, out := range map[int64]Output{1: one, -1: two} {
			for _, d := range out.Draws {
				if at := (cell{d.Turn, d.Metric, d.Key}); precisions[at] != nil {
					counts[at] += sign * d.Count
				}
			}
		}
		loss := new(big.Int)
		for at, d := range counts {
			loss.Add(loss, new(big.Int).Mul(big.NewInt(d*d), precisions[at]))
		}
		if limit := new(big.Int).Lsh(c.Budget.Mu2, 40+2); loss.Cmp(limit) > 0 {
			t.Fatalf("a substitution loses %v, four times B² are %v", loss, limit)
		}
	})
}
