package reference

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
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
		c := config
		c.Budget.Mu2 = drawUnits(t)
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

// Two metrics with private keys of their own each pay for a key that they share; a metric that
// takes the other's keys pays nothing.
func TestRuleEveryMetricWithPrivateKeysPaysForItsKeys(t *testing.T) {
	n, m := kind(testMetric("n", "private", 100), "events"), kind(testMetric("m", "private", 100), "distinct_users")
	c := testConfig(n, m, from(kind(testMetric("s", "public", 100), "events"), "n"))
	c.path = everythingAt(1)
	out := mustRun(t, c, onePartition(seen("u", "a", 1), seen("v", "a", 2), seen("v", "b", 3)), 1)
	// v holds a key that u holds, too, and pays for it all the same: it cannot know.
	wantSpent(t, c, out, map[string]int64{"u0": 3, "v0": 6}, map[string]int64{"u0": 2, "v0": 4})
}

// The lattice that values are rounded to contains the integers and is a function of the two
// precisions alone; rounding commutes with adding the count.
func TestRuleTheLatticeDependsOnPublicValuesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, err1 := units.PrecisionFromSigma(rapid.Float64Range(10, 1e6).Draw(t, "from"))
		to, err2 := units.PrecisionFromSigma(rapid.Float64Range(0.01, 9).Draw(t, "to"))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		var sampler noisereduction.Sampler
		exponents := map[uint]bool{}
		for _, count := range []int64{0, 1, -1, noisereduction.MaxCount, -noisereduction.MaxCount, rapid.Int64Range(-1<<40, 1<<40).Draw(t, "count")} {
			for id := range byte(3) {
				_, exponent, err := sampler.Draw(noisereduction.NoiseKey{Secret: secret.New([32]byte{id})}, noisereduction.Identity{Key: []byte{id}}, 1, from, to, count)
				if err != nil {
					t.Fatal(err)
				}
				exponents[exponent] = true // multiples of 2^-exponent, and exponent ≥ 0
			}
		}
		if len(exponents) != 1 {
			t.Fatalf("the lattices of one pair of precisions are 2^-%v", exponents)
		}
	})
}

// Over n periods a user has √n·B: n budgets spent in full are n times B², whose curve passes where
// that of √n·B does.
func TestRuleLossesOfPeriodsAdd(t *testing.T) {
	one := big.NewInt(1 << 40) // B = 1
	for _, n := range []int64{2, 9, 30} {
		all := new(big.Int).Mul(one, big.NewInt(n))
		b := math.Sqrt(float64(n))
		for _, epsilon := range []float64{0.5, 1, 4} {
			got, _ := GaussianDelta(all, epsilon).Float64()
			phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
			want := phi(-epsilon/b+b/2) - math.Exp(epsilon)*phi(-epsilon/b-b/2)
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("%d periods at ε = %g: δ is %v, want %v", n, epsilon, got, want)
			}
		}
	}
}
