package noisereduction

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/state/units"
)

// TestAdaptiveLadderIsNearClairvoyant measures the aim: at 5 %/95 %, averaged
// over counts from 3 to 10^6 (log-uniform) and without a budget cap, the
// precision reached is within 1.05 of the least that keeps the promise when
// the count is known. The standard error is 0.05 %.
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

// TestDoublingCost: fresh noise at every rung, all rungs paid, costs
// (1 − r^-n)/(1 − 1/r) times as much as the last rung alone.
func TestDoublingCost(t *testing.T) {
	for _, test := range []struct {
		factor float64
		rungs  int
		want   string
	}{{2, 4, "1.8750"}, {1.5, 4, "2.4074"}} {
		first := units.Precision{Lo: 1 << 40}
		top := units.Precision{Lo: 1 << 50}
		p := compile(t, Spec{Kind: Geometric, Factor: test.factor, First: first, Top: top, Target: Target{Confidence: .95}})
		ladder := p.Ladder()[:test.rungs]
		paid := new(big.Int)
		for _, u := range ladder {
			paid.Add(paid, u.Big())
		}
		ratio, _ := new(big.Rat).SetFrac(paid, ladder[test.rungs-1].Big()).Float64()
		if got := fmt.Sprintf("%.4f", ratio); got != test.want {
			t.Errorf("×%v, %d rungs: doubling pays %s times as much, want %s", test.factor, test.rungs, got, test.want)
		}
		if got := fmt.Sprintf("%.4f", doublingRatio(test.factor, test.rungs)); got != test.want {
			t.Errorf("×%v, %d rungs: formula gives %s, want %s", test.factor, test.rungs, got, test.want)
		}
	}
}

func ruleOf(relative, confidence, step float64, f factors) sweptRule {
	return sweptRule{
		Relative: relative, Confidence: confidence, Step: step, Margin: margin, Shrink: 1,
		Kappa: float64(f.kappa) / 1000, Widen: float64(f.widen) / 1000,
	}
}

// TestTableOfLadders prints the table of docs/accuracy.md that compares
// ladders at their table factors, and checks that the order is the expected
// one.
func TestTableOfLadders(t *testing.T) {
	sweeper := newSweeper()
	var out strings.Builder
	for _, cell := range []struct{ r, confidence float64 }{{.05, .95}, {.1, .95}, {.2, .8}, {.2, .95}, {.5, .95}} {
		fmt.Fprintf(&out, "\n| %g %%, %g %% ", 100*cell.r, 100*cell.confidence)
		var costs []float64
		for _, ladder := range []Spec{
			{Kind: Adaptive}, {Kind: Geometric, Factor: 1.1}, {Kind: Geometric, Factor: 1.5}, {Kind: Geometric, Factor: 2}, {Kind: Geometric, Factor: 4},
		} {
			ladder.Target = Target{Relative: cell.r, Confidence: cell.confidence}
			rule := ruleOf(cell.r, cell.confidence, ladder.Factor, factorsFor(ladder))
			typical := sweeper.Typical(rule)
			costs = append(costs, typical.Cost)
			fmt.Fprintf(&out, "| %.3f (%.2f %%) ", typical.Cost, 100*typical.Wrong)
		}
		for _, step := range []float64{1.5, 2} {
			ladder := Spec{Kind: Geometric, Factor: step, Target: Target{Relative: cell.r, Confidence: cell.confidence}}
			fmt.Fprintf(&out, "| %.3f ", doublingCost(ruleOf(cell.r, cell.confidence, step, factorsFor(ladder))))
		}
		fmt.Fprint(&out, "|")
		for i, c := range costs[1:] {
			if c < costs[0]-0.02 {
				t.Errorf("%v: fixed ladder %d costs %.4f, less than the adaptive %.4f", cell, i+1, c, costs[0])
			}
		}
	}
	t.Log(out.String())
}

// TestTableOfTargets prints the grid of docs/accuracy.md: factors, cost,
// wrong releases and missed intervals of the adaptive ladder. Without -v it
// checks every seventh cell, none of those of TestFactorsKeepThePromise.
func TestTableOfTargets(t *testing.T) {
	long.Test(t)
	sweeper := newSweeper()
	var out strings.Builder
	for row, r := range tableTargets() {
		fmt.Fprintf(&out, "\n| %.3g %% ", 100*r)
		for column, confidence := range tableConfidences() {
			if !testing.Verbose() && (column+3*row)%7 != 3 {
				continue
			}
			f := factorsFor(Spec{Kind: Adaptive, Target: Target{Relative: r, Confidence: confidence}})
			typical := sweeper.Typical(ruleOf(r, confidence, 0, f))
			fmt.Fprintf(&out, "| %.3f %.3f %.2f ", float64(f.kappa)/1000, typical.Cost, 100*(1-typical.Wrong))
			if typical.Wrong > 1-confidence {
				t.Errorf("r = %v, confidence %v: %.5f wrong", r, confidence, typical.Wrong)
			}
		}
		fmt.Fprint(&out, "|")
	}
	t.Log(out.String())
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
		first, both := fmt.Sprintf("\n| %.3g %% ", 100*r), fmt.Sprintf("\n| %.3g %% ", 100*r)
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

// TestTableOfCorrections prints what publishing (1 − r²)·mean instead of the
// mean would save, and wants it to save something: the factor refitted, the
// adaptive ladder. Without -v it takes one target.
func TestTableOfCorrections(t *testing.T) {
	long.Test(t)
	sweeper := newSweeper()
	var out strings.Builder
	for _, cell := range []struct{ r, confidence float64 }{{.05, .95}, {.1, .95}, {.2, .95}, {.5, .95}} {
		if !testing.Verbose() && cell.r != .2 {
			continue
		}
		plain := factorsFor(Spec{Kind: Adaptive, Target: Target{Relative: cell.r, Confidence: cell.confidence}})
		mean := sweeper.Typical(ruleOf(cell.r, cell.confidence, 0, plain))
		rule := ruleOf(cell.r, cell.confidence, 0, plain)
		rule.Shrink = 1 - cell.r*cell.r
		rule.Kappa = sweeper.FitKappa(rule, 0.97)
		corrected := sweeper.Typical(rule)
		if corrected.Cost >= mean.Cost {
			t.Errorf("%v: corrected values cost %.4f, the mean %.4f", cell, corrected.Cost, mean.Cost)
		}
		fmt.Fprintf(&out, "\n| %g %%, %g %% | %.3f | %.3f, κ %.3f |", 100*cell.r, 100*cell.confidence, mean.Cost, corrected.Cost, rule.Kappa)
	}
	t.Log(out.String())
}
