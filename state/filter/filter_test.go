package filter_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/filter"
)

func TestWhatFitsAlsoFitsSmaller(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		rapid.Check(t, func(t *rapid.T) {
			m := s.fresh()
			history(t, s, m)
			n := s.draw(t, m.left())
			if !m.fits(n) {
				return
			}
			if smaller := shrink(t, n); !m.fits(smaller) {
				t.Fatalf("%v fits but %v does not", n, smaller)
			}
		})
	})
}

func TestWhateverFitsFitsAfterSpendingLess(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		rapid.Check(t, func(t *rapid.T) {
			m, thrifty := s.fresh(), s.fresh()
			for _, n := range history(t, s, m) {
				smaller := shrink(t, n)
				if err := thrifty.spend(smaller); err != nil {
					t.Fatalf("%v was accepted, %v after less is not: %v", n, smaller, err)
				}
			}
			if n := s.draw(t, m.left()); m.fits(n) && !thrifty.fits(n) {
				t.Fatalf("%v fits after more and not after less", n)
			}
			for i, left := range m.left() {
				if thrifty.left()[i] < left {
					t.Fatalf("left %v after more, %v after less", m.left(), thrifty.left())
				}
			}
		})
	})
}

func TestNothingIsAcceptedBeyondTheTheorem(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		rapid.Check(t, func(t *rapid.T) {
			m, total := s.fresh(), s.sums()
			for _, n := range history(t, s, m) {
				total.add(n, 1)
			}
			if !total.allowed() {
				t.Fatalf("accepted beyond the budget: left %v", m.left())
			}
		})
	})
}

func TestAMillionAdversarialLossesStayWithinTheTheorem(t *testing.T) {
	steps := 1_000_000
	if !long.On() {
		steps = 20_000
	}
	each(t, func(t *testing.T, s subject) {
		t.Parallel()
		m, total := s.fresh(), s.sums()
		rng := rand.New(runseed.PCG(t, 5, uint64(len(s.name))))
		choices, counts := s.choices(t, steps), make([]float64, 64)
		accepted := 0
		for step := range steps {
			i := rng.IntN(len(choices))
			if err := m.spend(choices[i]); err == nil {
				counts[i]++
				accepted++
			} else if !errors.Is(err, filter.ErrExceeded) {
				t.Fatal(err)
			}
			if step%(steps/50) == 0 {
				s.mustRefuseMore(t, m)
			}
		}
		if accepted < steps/4 {
			t.Fatalf("only %d of %d losses were accepted: no test of long sums", accepted, steps)
		}
		for i, count := range counts[:len(choices)] {
			total.add(choices[i], count)
		}
		for range 8 { // and up to the brim
			left := m.left()
			if err := m.spend(left); err != nil {
				t.Fatalf("what is left, %v, is refused: %v", left, err)
			}
			total.add(left, 1)
			s.mustRefuseMore(t, m)
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

// choices returns 64 losses whose sum over the steps is near the budget: some of
// less than a unit of the sums, some just above a unit, the others around the budget's
// share of one step, a few with a δ of 0.
func (s subject) choices(t testing.TB, steps int) []numbers {
	rng := rand.New(runseed.PCG(t, 7, 11))
	all := make([]numbers, 64)
	order := make([][]int, len(s.scale)) // of the shares: their sum is the same, whatever is drawn
	for j := range order {
		order[j] = rng.Perm(len(all))
	}
	for i := range all {
		n := make(numbers, len(s.scale))
		for j, scale := range s.scale {
			share := scale / float64(steps)
			if j == 0 && slices.Contains([]string{"gdp", "gdp for", "advanced"}, s.name) {
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

// mustRefuseMore checks that nothing above what is left fits.
func (s subject) mustRefuseMore(t *testing.T, m machine) {
	t.Helper()
	left := m.left()
	if !m.fits(left) {
		t.Fatalf("what is left, %v, does not fit", left)
	}
	for i := range left {
		more := slices.Clone(left)
		more[i] = math.Nextafter(more[i], math.Inf(1))
		if m.fits(more) {
			t.Fatalf("%v fits, which is more than the %v that is left", more, left)
		}
		if err := m.spend(more); !errors.Is(err, filter.ErrExceeded) {
			t.Fatalf("spending %v of %v: %v", more, left, err)
		}
	}
	if got := m.left(); !slices.Equal(got, left) {
		t.Fatalf("refusals changed what is left from %v to %v", left, got)
	}
}

func TestWhatIsLeftFitsAndTheNextLargerDoesNot(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		rapid.Check(t, func(r *rapid.T) {
			m := s.fresh()
			history(r, s, m)
			s.mustRefuseMore(t, m)
		})
	})
}

func TestFitsForetellsSpend(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		rapid.Check(t, func(t *rapid.T) {
			m := s.fresh()
			history(t, s, m)
			n, before := s.draw(t, m.left()), m.left()
			fits := m.fits(n)
			if !slices.Equal(m.left(), before) {
				t.Fatalf("asking whether %v fits changed what is left", n)
			}
			if err := m.spend(n); fits != (err == nil) || err != nil && !errors.Is(err, filter.ErrExceeded) {
				t.Fatalf("%v fits: %v, but spending it: %v", n, fits, err)
			}
			if !fits && !slices.Equal(m.left(), before) {
				t.Fatalf("refusing %v changed what is left from %v to %v", n, before, m.left())
			}
		})
	})
}

func TestAfterTheBudgetOnlyNothingFits(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		m := s.fresh()
		for range 100 {
			if err := m.spend(m.left()); err != nil {
				t.Fatal(err)
			}
		}
		nothing := make(numbers, len(s.scale))
		if err := m.spend(nothing); err != nil {
			t.Errorf("the loss of nothing is refused: %v", err)
		}
		for i := range nothing {
			least := slices.Clone(nothing)
			least[i] = math.Nextafter(m.left()[i], 1)
			if m.fits(least) {
				t.Errorf("%v fits an exhausted budget", least)
			}
		}
	})
}

// history spends a random sequence and returns what was accepted of it.
func history(t *rapid.T, s subject, m machine) []numbers {
	var accepted []numbers
	for range rapid.IntRange(0, 12).Draw(t, "losses") {
		n := s.draw(t, m.left())
		if m.spend(n) == nil {
			accepted = append(accepted, n)
		}
	}
	return accepted
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
