package filters

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/repeated"
)

// The numbers of steps in filter-steps.golden are those that Koskela, Tobaben and Honkela print.
// dp_accounting and a numerical solution of Corollary C.2 give the same ε, 0.8156 and 0.7451.
func TestGolden(t *testing.T) {
	for _, e := range Experiments() {
		found := repeated.File(t, "testdata/"+e.Name+".golden", e, repeated.Small)
		if e.Name == "filter-users" {
			repeated.OnOneProcessor(t, e, repeated.Small, found)
		}
	}
}
