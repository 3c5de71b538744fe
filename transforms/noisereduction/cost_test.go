package noisereduction

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
)

// TestAdaptiveLadderIsNearClairvoyant measures the aim: at 5%/95%, averaged over counts from 3 to
// 10^6 (log-uniform) and without a budget cap, the precision reached is within 1.05 of the least
// that keeps the promise when the count is known. The standard error is 0.05%.
func TestAdaptiveLadderIsNearClairvoyant(t *testing.T) {
	target := Target{Relative: .05, Confidence: .95}
	p := compile(t, Spec{
		Kind: Adaptive, Target: target,
		First: precisionOf(t, optimum(target, 1e6)), // made for a greatest count of 10^6
		Top:   precisionOf(t, 16*optimum(target, 3)),
	})
	const counts = 100
	each := chance.Trials(300)
	cost, wrong, rungs := 0.0, 0, 0
	for i := range counts {
		f := math.Round(3 * math.Pow(1e6/3, (float64(i)+0.5)/counts))
		all := run(t, p, int64(f), each, byte(i))
		cost += all.precision / float64(each) / optimum(target, f) / counts
		wrong += all.wrong
		rungs += all.n
	}
	t.Logf("cost %.4f × the clairvoyant optimum, %.4f of %d releases wrong", cost, float64(wrong)/float64(rungs), rungs)
	if cost > 1.05 {
		t.Errorf("cost is %.4f × the optimum, aim 1.05", cost)
	}
}

// TestTheDocumentedFactorsAreInForce compares every factor that docs/accuracy.md has: an outsider
// recomputes stops and intervals from them.
func TestTheDocumentedFactorsAreInForce(t *testing.T) {
	raw, err := os.ReadFile("../../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, r := range tableTargets() {
		first, both := fmt.Sprintf("\n| %.3g%% ", 100*r), fmt.Sprintf("\n| %.3g%% ", 100*r)
		for _, confidence := range tableConfidences() {
			f := factorsFor(Spec{Kind: Adaptive, Target: Target{Relative: r, Confidence: confidence}})
			first += fmt.Sprintf(`\| %.3f [0-9.]+ [0-9.]+ `, float64(f.kappa)/1000)
			both += fmt.Sprintf("| %.3f %.3f ", float64(f.floor)/1000, float64(f.widen)/1000)
		}
		if !strings.Contains(page, both+"|\n") {
			t.Errorf("docs/accuracy.md lacks the row of κ beside an absolute target, and λ: %s|", both)
		}
		if ok, err := regexp.MatchString(strings.Replace(first, "\n| ", `\n\| `, 1)+`\|\n`, page); err != nil || !ok {
			t.Errorf("docs/accuracy.md lacks the row of κ (%v): %s|", err, first)
		}
	}
}
