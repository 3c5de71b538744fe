package runseed

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

func TestRapidRepeatsARun(t *testing.T) {
	draw := func() (all []int) {
		rapid.Check(t, func(t *rapid.T) { all = append(all, rapid.Int().Draw(t, "any")) })
		return all
	}
	if first, second := draw(), draw(); len(first) < 20 || !slices.Equal(first, second) {
		t.Errorf("two runs drew %d and %d cases that are not the same", len(first), len(second))
	}
}

func TestSeedOfRapid(t *testing.T) {
	seeded := func(own, run string) string {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.Uint64("rapid.seed", 0, "")
		if err := flags.Set("rapid.seed", own); err != nil {
			t.Fatal(err)
		}
		seedRapid(flags, run)
		return flags.Lookup("rapid.seed").Value.String()
	}
	if got := seeded("0", ""); got != unset {
		t.Errorf("without %s rapid starts with %s, not with %s", Variable, got, unset)
	}
	if a, b := seeded("0", "7"), seeded("0", "8"); a == b || a == "0" || a == unset || a != seeded("0", "7") {
		t.Errorf("runs 7 and 8 start rapid with %s and %s", a, b)
	}
	for _, run := range []string{"", "7"} {
		if got := seeded("5", run); got != "5" {
			t.Errorf("-rapid.seed 5 with %s=%s became %s", Variable, run, got)
		}
	}
}

// place is a test as PCG sees it.
type place struct {
	name     string
	failed   bool
	printed  []string
	cleanups []func()
}

func (p *place) Name() string                  { return p.name }
func (p *place) Failed() bool                  { return p.failed }
func (p *place) Logf(f string, a ...any)       { p.printed = append(p.printed, fmt.Sprintf(f, a...)) }
func (p *place) Cleanup(f func())              { p.cleanups = append(p.cleanups, f) }
func words(p *rand.PCG) (first, second uint64) { return p.Uint64(), p.Uint64() }

func TestSeedOfAPlace(t *testing.T) {
	t.Setenv(Variable, "")
	a := &place{name: "TestA"}
	w1, w2 := words(PCG(a, 1, 2))
	if f1, f2 := words(rand.NewPCG(1, 2)); w1 != f1 || w2 != f2 || Uint64(a, 5) != 5 || Shared(5) != 5 || len(a.cleanups) != 0 {
		t.Errorf("without %s the seeds are not the fixed ones", Variable)
	}
	seen := map[uint64]string{w1: "the fixed seed"}
	for _, run := range []string{"7", "8"} {
		for _, name := range []string{"TestA", "TestB"} {
			for b := range uint64(2) {
				if err := os.Setenv(Variable, run); err != nil {
					t.Fatal(err)
				}
				at := fmt.Sprint(run, name, b)
				first, _ := words(PCG(&place{name: name}, 1, b))
				again, _ := words(PCG(&place{name: name}, 1, b))
				if first != again {
					t.Errorf("%s: the same seed draws others", at)
				}
				if other, ok := seen[first]; ok {
					t.Errorf("%s draws what %s draws", at, other)
				}
				seen[first] = at
			}
		}
	}
	one, again := Shared(1), Shared(1)
	if one == Shared(2) || one != again || Uint64(a, 1) == Uint64(a, 2) {
		t.Errorf("seeds are equal that have to differ, or the reverse")
	}
}

func TestAFailurePrintsTheSeedOnce(t *testing.T) {
	t.Setenv(Variable, "7")
	t.Setenv(long.Variable, "")
	for _, failed := range []bool{false, true} {
		p := &place{name: "TestA/b", failed: failed}
		PCG(p, 1, 2)
		Uint64(p, 1)
		Print(p)
		for _, f := range p.cleanups {
			f()
		}
		var want []string
		if failed {
			want = []string{"to repeat what this test drew: TOLLGATE_SEED=7 go test -count 1 -run '^TestA/b$' ./internal/testing/runseed"}
		}
		if !slices.Equal(p.printed, want) {
			t.Errorf("failed %v: printed %q, want %q", failed, p.printed, want)
		}
	}
}
