package fixedseed

import (
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEveryRunDrawsTheSame(t *testing.T) {
	if got := flag.Lookup("rapid.seed").Value.String(); got != Seed {
		t.Skipf("rapid.seed is %s: the command line has it", got)
	}
	draw := func() (all []int) {
		rapid.Check(t, func(t *rapid.T) { all = append(all, rapid.Int().Draw(t, "any")) })
		return all
	}
	if first, second := draw(), draw(); len(first) < 20 || !slices.Equal(first, second) {
		t.Errorf("two runs drew %d and %d cases that are not the same", len(first), len(second))
	}
}

func TestAChosenSeedStays(t *testing.T) {
	for given, want := range map[string]string{"0": Seed, "7": "7"} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		seed := flags.Uint64("rapid.seed", 0, "")
		if err := flags.Set("rapid.seed", given); err != nil {
			t.Fatal(err)
		}
		set(flags)
		if got := flags.Lookup("rapid.seed").Value.String(); got != want {
			t.Errorf("a seed of %s became %s (%d)", given, got, *seed)
		}
	}
}
