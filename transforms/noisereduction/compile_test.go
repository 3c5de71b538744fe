package noisereduction

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestCompileRefuses(t *testing.T) {
	good := Spec{Kind: Adaptive, First: precision(t, 1000), Top: precision(t, 10),
		Target: Target{Relative: .05, Confidence: .95}}
	delta, err := units.DeltaFromFloat(1e-11)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Spec){
		"kind":              func(s *Spec) { s.Kind = "doubling" },
		"no factor":         func(s *Spec) { s.Kind = Geometric },
		"factor too small":  func(s *Spec) { s.Kind, s.Factor = Geometric, 1.01 },
		"factor too great":  func(s *Spec) { s.Kind, s.Factor = Geometric, 17 },
		"factor NaN":        func(s *Spec) { s.Kind, s.Factor = Geometric, math.NaN() },
		"no first":          func(s *Spec) { s.First = units.Precision{} },
		"first above top":   func(s *Spec) { s.First, s.Top = s.Top, s.First },
		"negative relative": func(s *Spec) { s.Target.Relative = -.1 },
		"relative above .5": func(s *Spec) { s.Target.Relative = .6 },
		"relative NaN":      func(s *Spec) { s.Target.Relative = math.NaN() },
		"absolute NaN":      func(s *Spec) { s.Target.Absolute = math.NaN() },
		"negative absolute": func(s *Spec) { s.Target.Absolute = -1 },
		"infinite absolute": func(s *Spec) { s.Target.Absolute = math.Inf(1) },
		"no confidence":     func(s *Spec) { s.Target.Confidence = 0 },
		"confidence 1":      func(s *Spec) { s.Target.Confidence = 1 },
		"no contribution":   func(s *Spec) { s.Private = &Private{0, delta} },
		"no delta":          func(s *Spec) { s.Private = &Private{1, units.Delta{}} },
		"delta of 1/2":      func(s *Spec) { s.Private = &Private{1, units.Delta{Hi: 1 << 15}} },
	} {
		s := good
		change(&s)
		if _, err := Compile(s); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: got error %v, want ErrSpec", name, err)
		}
	}
	if _, err := Compile(good); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

// TestRuleNextPrecisionIsInteger: the precisions that a ladder can reach are integers fixed before
// any estimate is seen, increasing from first to at most top, adaptive neighbours at least ×1.05
// apart; and every jump stays within ×16.
func TestRuleNextPrecisionIsInteger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Uint64Min(1).Draw(t, "first")
		octaves := rapid.UintRange(0, 60).Draw(t, "octaves")
		top, err := units.PrecisionFromBig(new(big.Int).Lsh(new(big.Int).SetUint64(first), octaves))
		if err != nil {
			t.Fatal(err)
		}
		s := Spec{
			Kind: Adaptive, First: units.Precision{Lo: first}, Top: top,
			Target: Target{Relative: rapid.Float64Range(.01, .5).Draw(t, "r"), Confidence: .9},
		}
		if rapid.Bool().Draw(t, "geometric") {
			s.Kind, s.Factor = Geometric, rapid.Float64Range(1.05, 16).Draw(t, "factor")
		}
		p, err := Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		ladder := p.Ladder()
		if ladder[0] != s.First || ladder[len(ladder)-1] != s.Top {
			t.Fatal("the ladder does not go from first to top")
		}
		for i := 1; i < len(ladder)-1; i++ {
			if ladder[i].Cmp(ladder[i-1]) <= 0 {
				t.Fatalf("points %d and %d do not increase", i-1, i)
			}
			if s.Kind == Geometric || first > 1000 {
				pointIsExact(t, s, i, ladder)
			}
			unit := 1 / ladder[i-1].Float() // both ends are rounded to integers
			if ratio := ladder[i].Float() / ladder[i-1].Float(); s.Kind == Adaptive && first > 1000 &&
				(ratio+unit < 1.05 || ratio-2*unit > 1.0525) {
				t.Fatalf("points %d and %d are ×%v apart", i-1, i, ratio)
			}
		}
		scoreIsExact(t, p)
		score := rapid.Int64().Draw(t, "score")
		jump := p.jump(score)
		if jump < 1 || jump > maxJump {
			t.Fatalf("jump of %d points", jump)
		}
		if score <= 0 && s.Kind == Adaptive && jump != maxJump {
			t.Fatalf("an estimate of zero or less jumps %d points", jump)
		}
	})
}

// pointIsExact fails if a point of a ladder was not computed in integers: a geometric one is
// ⌊u·factor⌋, an adaptive one first·2^(i/14) within two units and a part 2^-60. A float64 would be
// off by a part 2^-53.
func pointIsExact(t *rapid.T, s Spec, i int, ladder []units.Precision) {
	t.Helper()
	u, one := ladder[i].Big(), big.NewInt(1)
	if s.Kind == Geometric {
		before := ladder[i-1].Big()
		want := new(big.Rat).SetFloat64(s.Factor)
		want.Mul(want, new(big.Rat).SetInt(before))
		exact := new(big.Int).Quo(want.Num(), want.Denom())
		if next := before.Add(before, one); exact.Cmp(next) < 0 {
			exact = next
		}
		if u.Cmp(exact) != 0 {
			t.Fatalf("point %d is %v, want %v", i, u, exact)
		}
		return
	}
	power := func(v *big.Int) *big.Int { return new(big.Int).Exp(v, big.NewInt(octave), nil) }
	part := new(big.Int).Rsh(u, 60)
	part.Add(part, big.NewInt(2))
	want := power(s.First.Big())
	want.Lsh(want, uint(i))
	if power(new(big.Int).Sub(u, part)).Cmp(want) > 0 || power(new(big.Int).Add(u, part)).Cmp(want) < 0 {
		t.Fatalf("point %d is %v, which is not first·2^(%d/%d)", i, u, i, octave)
	}
}

// scoreIsExact fails if a score is not an integer quotient: decisions must not depend on how a
// processor rounds.
func scoreIsExact(t *rapid.T, p *Plan) {
	t.Helper()
	want := rapid.Int64Range(1, 1<<62).Draw(t, "exact score")
	r := &p.rungs[len(p.rungs)-1]
	var c refinement
	c.sum.Mul(big.NewInt(want), r.root)
	if got := c.scoreOf(r); got != want {
		t.Fatalf("the score is %d, want %d", got, want)
	}
	c.sum.Sub(&c.sum, big.NewInt(1))
	if got := c.scoreOf(r); got != want-1 {
		t.Fatalf("the score just below %d is %d", want, got)
	}
}

// TestJumpAimsShortOfTheBarrier: after a jump of m points a score that is low by the margin has
// just not passed the barrier; one more point and it would have.
func TestJumpAimsShortOfTheBarrier(t *testing.T) {
	p := compile(t, Spec{Kind: Adaptive, First: precision(t, 1e6), Top: precision(t, 1), Target: Target{Relative: .05,
		Confidence: .95}})
	for x := 0.05; x < 38; x *= 1.1 {
		m := p.jump(int64(math.Ldexp(x, scoreBits)))
		a := math.Ldexp(float64(p.barrier), -scoreBits)
		want := int(math.Floor(2 * octave * math.Log2(a/(x+margin))))
		if want = min(max(want, 1), maxJump); m != want {
			t.Errorf("from %.3f the jump is %d points, want %d", x, m, want)
		}
	}
}

func TestMeetableFrom(t *testing.T) {
	for _, test := range []struct {
		target    Target
		low, high float64
	}{
		// σ = 845: 1.96·845/0.05 = 33,124 over the fitted factor.
		{Target{Relative: .05, Confidence: .95}, 33_121, 34_300},
		{Target{Absolute: 2000, Confidence: .95}, 0, 0},
		{Target{Relative: .05, Absolute: 2000, Confidence: .95}, 0, 0},
		{Target{Absolute: 1000, Confidence: .95}, math.Inf(1), math.Inf(1)},
		{Target{Relative: .05, Absolute: 1000, Confidence: .95}, 33_121, 35_500},
		{Target{Confidence: .95}, math.Inf(1), math.Inf(1)},
	} {
		p := compile(t, Spec{Kind: Adaptive, First: precision(t, 1e6), Top: precision(t, 845), Target: test.target})
		if from := p.MeetableFrom(); from < test.low || from > test.high {
			t.Errorf("%+v: meetable from %v, want %v to %v", test.target, from, test.low, test.high)
		}
	}
}

// TestFactorsBetweenNodesAreTheStrictest of the four around them.
func TestFactorsBetweenNodesAreTheStrictest(t *testing.T) {
	factorsAt := func(r, confidence float64) factors {
		return factorsFor(Spec{Kind: Adaptive, Target: Target{Relative: r, Confidence: confidence}})
	}
	between := factorsAt(.06, .97)
	for _, r := range []float64{.05, .07} {
		for _, c := range []float64{.95, .98} {
			node := factorsAt(r, c)
			if between.kappa > node.kappa || between.floor > node.floor || between.widen < node.widen {
				t.Errorf("factors %+v are less strict than %+v at (%v, %v)", between, node, r, c)
			}
		}
	}
	if factorsAt(.001, .95) != factorsAt(.01, .95) {
		t.Error("targets below the table do not take its first row")
	}
}
