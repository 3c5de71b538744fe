package runseed

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	_ "pgregory.net/rapid" // defines the flags

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// Variable is the environment variable that holds the run's seed.
const Variable = "TOLLGATE_SEED"

// unset is rapid's seed if the variable is not set. The number is arbitrary.
const unset = "20260101"

func init() { seedRapid(flag.CommandLine, os.Getenv(Variable)) }

// seedRapid sets rapid's seed. Unless long tests run, it also reduces the number of rapid's cases
// to a fifth. It does not change options of rapid that are already set.
func seedRapid(flags *flag.FlagSet, seed string) {
	if f := flags.Lookup("rapid.checks"); f != nil && f.Value.String() == "100" && !long.On() {
		_ = f.Value.Set("20")
	}
	n := unset
	if seed != "" {
		word, _ := derived(seed, "rapid", 0, 0)
		n = strconv.FormatUint(word|1, 10) // rapid treats 0 as no seed
	}
	if f := flags.Lookup("rapid.seed"); f != nil && f.Value.String() == "0" {
		// The flag accepts any number, so there is no error.
		_ = f.Value.Set(n)
	}
}

// TB has the methods of *testing.T and *rapid.T that this package needs.
type TB interface {
	Name() string
	Failed() bool
	Logf(format string, args ...any)
	Cleanup(f func())
}

// PCG returns the random source of a test. Without TOLLGATE_SEED it is rand.NewPCG(a, b). Otherwise
// its seed is derived from TOLLGATE_SEED, the test's name, a and b.
func PCG(t TB, a, b uint64) *rand.PCG {
	seed := os.Getenv(Variable)
	if seed == "" {
		return rand.NewPCG(a, b)
	}
	Print(t)
	return rand.NewPCG(derived(seed, t.Name(), a, b))
}

// Uint64 returns a seed. Without TOLLGATE_SEED it is fixed. A test that calls Uint64 in a loop must
// pass another value of fixed each time.
func Uint64(t TB, fixed uint64) uint64 {
	if os.Getenv(Variable) == "" {
		return fixed
	}
	return PCG(t, fixed, 0).Uint64()
}

// Shared is Uint64 for data that several tests share. The seed does not depend on the test's name.
// A test that uses it must call Print.
func Shared(fixed uint64) uint64 {
	seed := os.Getenv(Variable)
	if seed == "" {
		return fixed
	}
	a, _ := derived(seed, "", fixed, 0)
	return a
}

// derived returns two words that are derived from a seed of the run, a name, a and b.
func derived(seed, name string, a, b uint64) (uint64, uint64) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %d %d", seed, name, a, b))
	return binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])
}

// command returns the command line that repeats a test of the current package with a seed. It must
// be run in the module's root.
func command(seed, test string) string {
	dir, _ := os.Getwd() // after an error, the command lacks the package
	root := dir
	for _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil &&
		root != filepath.Dir(root); _, err = os.Stat(filepath.Join(root, "go.mod")) {
		root = filepath.Dir(root)
	}
	all := ""
	if long.On() {
		all = long.Variable + "=1 "
	}
	return fmt.Sprintf("%s%s=%s go test -count 1 -run '^%s$' .%s", all, Variable, seed, test,
		strings.TrimPrefix(dir, root))
}

// printing holds the tests that have called Print.
var printing sync.Map

// Print makes a test print how to repeat it, once, if it fails and TOLLGATE_SEED is set. PCG and
// Uint64 call Print.
func Print(t TB) {
	seed := os.Getenv(Variable)
	if seed == "" {
		return
	}
	if _, already := printing.LoadOrStore(t, true); already {
		return
	}
	t.Cleanup(func() {
		printing.Delete(t)
		if t.Failed() {
			t.Logf("to repeat this test's draws: %s", command(seed, t.Name()))
		}
	})
}
