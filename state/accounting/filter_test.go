package accounting_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// TestNothingIsAcceptedBeyondTheTheorem calls every method of a filter, in any order, with the
// numbers for which rounding to the wrong side would show, stores and resumes it in between, and
// adds up the accepted and reserved losses without rounding.
func TestNothingIsAcceptedBeyondTheTheorem(t *testing.T) {
	promises := [][2]float64{{0.7, 3e-6}, {1.1, 1e-5}, {0x1p-20, 1e-9}, {30, 0.1}}
	if !long.On() {
		promises = promises[:2]
	}
	for _, p := range promises {
		for _, s := range subjects(p[0], p[1]) {
			t.Run(s.name, rapid.MakeCheck(s.attack))
		}
	}
}

func (s subject) attack(t *rapid.T) {
	m, total := s.fresh(), &totals{subject: s}
	var open []numbers
	for range rapid.IntRange(1, 40).Draw(t, "calls") {
		before := m.left()
		n := s.draw(t, before)
		fits := m.fits(n)
		if !slices.Equal(m.left(), before) {
			t.Fatalf("asking whether %v fits changed what is left", n)
		}
		call := rapid.IntRange(0, 5).Draw(t, "call")
		switch {
		case call == 0:
			stored := m.store()
			m = s.fresh()
			must.Have(0, m.resume(stored))
			if !slices.Equal(m.left(), before) {
				t.Fatalf("left %v and, resumed, %v", before, m.left())
			}
		case call == 1 && m.settle != nil && len(open) > 0:
			worst := open[len(open)-1]
			realised := append(numbers{drawNumber(t, worst[0], worst[0])}, worst[1:]...)
			err := m.settle(worst, realised)
			if realised[0] <= worst[0] && err != nil || err != nil && !errors.Is(err, accounts.ErrSettle) {
				t.Fatalf("settling %v of %v: %v", realised, worst, err)
			}
			if err == nil { // above the worst case only if it costs the same number of units
				open = open[:len(open)-1]
				total.add(worst[:1], -1)
				total.add(numbers{min(realised[0], worst[0])}, 1)
			}
		default:
			spend := m.spend
			if call == 2 && m.reserve != nil {
				spend = m.reserve
			}
			if err := spend(n); fits != (err == nil) || err != nil && !errors.Is(err, accounting.ErrExceeded) {
				t.Fatalf("%v fits: %v, but spending it: %v", n, fits, err)
			}
			if !fits && !slices.Equal(m.left(), before) {
				t.Fatalf("refusing %v changed what is left from %v to %v", n, before, m.left())
			}
			if fits {
				total.add(n, 1)
				if call == 2 && m.reserve != nil {
					open = append(open, n)
				}
			}
		}
	}
	s.mustRefuseMore(t, m)
	if !total.allowed() {
		t.Fatalf("accepted and reserved %v, more than the theorem allows", total.sums)
	}
	for _, n := range open {
		total.add(n[:1], -1)
	}
	if len(total.sums) != len(s.scale) {
		return // the advanced filter's spent is a formula of its sums
	}
	for i, x := range m.spent() {
		if s.addends(x, i)[0].Cmp(total.sums[i]) < 0 {
			t.Fatalf("number %d: %v is spent, which is less than %v", i, x, total.sums[i])
		}
	}
}

type fataler interface {
	Fatalf(format string, args ...any)
	Helper()
}

// mustRefuseMore checks that the rest fits and nothing above it does.
func (s subject) mustRefuseMore(t fataler, m machine) {
	t.Helper()
	left := m.left()
	if !m.fits(left) {
		t.Fatalf("what is left, %v, does not fit", left)
	}
	for i := range left {
		more := slices.Clone(left)
		more[i] = math.Nextafter(more[i], math.Inf(1))
		if err := m.spend(more); !errors.Is(err, accounting.ErrExceeded) || m.fits(more) {
			t.Fatalf("spending %v of %v: %v", more, left, err)
		}
	}
	if got := m.left(); !slices.Equal(got, left) {
		t.Fatalf("refusals changed what is left from %v to %v", left, got)
	}
}

// If a loss fits, a smaller one fits; if it fits after some losses, it fits after smaller ones.
func TestAcceptanceIsMonotone(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		rapid.Check(t, func(t *rapid.T) {
			m, thrifty := s.fresh(), s.fresh()
			for range rapid.IntRange(0, 12).Draw(t, "losses") {
				n := s.draw(t, m.left())
				if m.spend(n) != nil {
					continue
				}
				smaller := shrink(t, n)
				if err := thrifty.spend(smaller); err != nil {
					t.Fatalf("%v was accepted, %v after less is not: %v", n, smaller, err)
				}
			}
			n := s.draw(t, m.left())
			if m.fits(n) && (!thrifty.fits(n) || !m.fits(shrink(t, n))) {
				t.Fatalf("%v fits after more and not after less, or not if it is smaller", n)
			}
			for i, left := range m.left() {
				if thrifty.left()[i] < left {
					t.Fatalf("left %v after more, %v after less", m.left(), thrifty.left())
				}
			}
		})
	})
}

// shrink returns a loss that is nowhere larger.
func shrink(t *rapid.T, n numbers) numbers {
	smaller := slices.Clone(n)
	for i := range smaller {
		switch rapid.IntRange(0, 3).Draw(t, "smaller") {
		case 0:
			smaller[i] = math.Nextafter(smaller[i], 0)
		case 1:
			smaller[i] *= rapid.Float64Range(0, 1).Draw(t, "factor")
		case 2:
			smaller[i] = max(0, smaller[i]*(1-math.Ldexp(1, -rapid.IntRange(30, 53).Draw(t, "bits"))))
		}
	}
	return smaller
}

func TestAMillionAdversarialLossesStayWithinTheTheorem(t *testing.T) {
	steps := 1_000_000
	if !long.On() {
		steps = 10_000
	}
	each(t, func(t *testing.T, s subject) {
		t.Parallel()
		m, total := s.fresh(), &totals{subject: s}
		rng := rand.New(runseed.PCG(t, 5, uint64(len(s.name))))
		choices, counts := s.choices(t, steps), make([]float64, 64)
		accepted := 0
		for step := range steps {
			i := rng.IntN(len(choices))
			if err := m.spend(choices[i]); err == nil {
				counts[i]++
				accepted++
			} else if !errors.Is(err, accounting.ErrExceeded) {
				t.Fatal(err)
			}
			if step%(steps/20) == 0 {
				s.mustRefuseMore(t, m)
			}
		}
		if accepted < steps/4 {
			t.Fatalf("only %d of %d losses were accepted: no test of long sums", accepted, steps)
		}
		for i, count := range counts {
			total.add(choices[i], count)
		}
		for range 100 { // and up to the brim
			left := m.left()
			if err := m.spend(left); err != nil {
				t.Fatalf("what is left, %v, is refused: %v", left, err)
			}
			total.add(left, 1)
		}
		s.mustRefuseMore(t, m)
		if err := m.spend(make(numbers, len(s.scale))); err != nil {
			t.Errorf("the loss of nothing is refused: %v", err)
		}
		if !total.allowed() {
			t.Fatalf("accepted beyond the budget after %d losses", accepted)
		}
		for i := range s.scale {
			more := make(numbers, len(s.scale))
			more[i] = s.scale[i] / 1000
			total.add(more, 1)
			if total.allowed() {
				t.Fatalf("the theorem would also have allowed number %d of %v", i, more)
			}
			total.add(more, -1)
		}
	})
}

// choices returns 64 losses whose sum over the steps is near the budget: some of less than a unit
// of 2^-80, some just above it, the others around the budget's share of one step, a few with a δ
// of 0.
func (s subject) choices(t testing.TB, steps int) []numbers {
	rng := rand.New(runseed.PCG(t, 7, 11))
	all := make([]numbers, 64)
	order := make([][]int, len(s.scale)) // the sum of the shares is the same, whatever is drawn
	for j := range order {
		order[j] = rng.Perm(len(all))
	}
	for i := range all {
		n := make(numbers, len(s.scale))
		for j, scale := range s.scale {
			share := scale / float64(steps)
			if j == 0 && (strings.HasPrefix(s.name, "gdp") || s.name == "advanced") {
				share = scale / math.Sqrt(float64(steps)) / 4 // squares add
			}
			switch {
			case i < 4:
				n[j] = math.Ldexp(rng.Float64(), -81)
			case i < 8:
				n[j] = math.Nextafter(0x1p-80, 1)
			case i < 10 && j > 0:
				n[j] = 0
			default:
				n[j] = share * 2 * (float64(order[j][i]) + rng.Float64()) / float64(len(all))
			}
		}
		all[i] = n
	}
	return all
}

// Invalid losses and losses too large for a sum change nothing.
func TestImpossibleLossesChangeNothing(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		m := s.fresh()
		part := slices.Clone(s.scale)
		for i := range part {
			part[i] *= 0.05
		}
		must.Have(0, m.spend(part))
		before := m.left()
		for i := range s.scale {
			for _, bad := range []float64{math.NaN(), math.Inf(-1), -1, -math.SmallestNonzeroFloat64} {
				n := make(numbers, len(s.scale))
				n[i] = bad
				if err := m.spend(n); err == nil || errors.Is(err, accounting.ErrExceeded) || m.fits(n) {
					t.Errorf("spending %v: %v", n, err)
				}
			}
		}
		for _, huge := range []float64{0x1p24, 0x1p47, 0x1p48, 1e30, math.MaxFloat64} {
			n := make(numbers, len(s.scale))
			n[0] = huge
			if err := m.spend(n); !errors.Is(err, accounting.ErrExceeded) || m.fits(n) {
				t.Errorf("spending %v: %v", n, err)
			}
		}
		if !slices.Equal(m.left(), before) {
			t.Errorf("refusals changed what is left from %v to %v", before, m.left())
		}
		if b := s.budget(); !slices.Equal(m.budget(), b) || s.name != "advanced" && !slices.Equal(b, s.scale) {
			t.Errorf("a budget of %v, at first %v", m.budget(), b)
		}
	})
}

func TestUpdatesDoNotAllocate(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		if s.name == "renyi" {
			t.Skip("the list form of these losses allocates its curve")
		}
		m, n, huge := s.fresh(), slices.Clone(s.scale), slices.Clone(s.scale)
		for i := range n {
			n[i], huge[i] = n[i]*1e-9, 100*huge[i]
		}
		if got := testing.AllocsPerRun(1000, func() {
			if !m.fits(n) || m.spend(n) != nil || m.spend(huge) == nil {
				t.Fatal("an update failed")
			}
		}); got != 0 {
			t.Errorf("an update allocates %v times", got)
		}
	})
}
