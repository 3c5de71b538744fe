package runseed

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

func TestSeedOfRapid(t *testing.T) {
	seeded := func(option, run string) string {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.Uint64("rapid.seed", 0, "")
		if err := flags.Set("rapid.seed", option); err != nil {
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

// place is a TB that records the calls of its methods.
type place struct {
	name     string
	failed   bool
	printed  []string
	cleanups []func()
}

func (p *place) Name() string            { return p.name }
func (p *place) Failed() bool            { return p.failed }
func (p *place) Logf(f string, a ...any) { p.printed = append(p.printed, fmt.Sprintf(f, a...)) }
func (p *place) Cleanup(f func())        { p.cleanups = append(p.cleanups, f) }

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
			want = []string{"to repeat this test's draws: TOLLGATE_SEED=7 go test -count 1 -run '^TestA/b$' " +
				"./internal/testing/runseed"}
		}
		if !slices.Equal(p.printed, want) {
			t.Errorf("failed %v: printed %q, want %q", failed, p.printed, want)
		}
	}
}
