package filters

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/testing/repeated"
)

func TestGolden(t *testing.T) {
	for _, e := range Experiments() {
		found := repeated.File(t, "testdata/"+e.Name+".golden", e, repeated.Small)
		if e.Name == "filter-users" {
			repeated.OnOneProcessor(t, e, repeated.Small, found)
		}
	}
}

// The numbers of steps are those that Koskela, Tobaben and Honkela print. dp_accounting and a
// numerical solution of Corollary C.2 give the same ε, 0.8156 and 0.7451.
func TestStepsAreThoseOfThePaper(t *testing.T) {
	found, err := Experiments()[0].Run(t.Context(), experiment.Options{Size: experiment.Small})
	if err != nil {
		t.Fatal(err)
	}
	rows := found.Tables[0].Rows
	if e := rows[0][2].(float64); math.Abs(e-0.8156) > 5e-5 {
		t.Errorf("ε of 420 steps by RDP is %v", e)
	}
	if e := rows[1][2].(float64); math.Abs(e-0.7451) > 5e-5 {
		t.Errorf("ε of 420 steps by GDP is %v", e)
	}
	if n := rows[3][2].(int); n != 495 {
		t.Errorf("%d steps by GDP at that ε", n)
	}
	for i, want := range [][2]int{{37, 31}, {134, 112}, {282, 238}, {478, 405}, {718, 611}} {
		if row := found.Tables[1].Rows[i]; row[1] != want[0] || row[2] != want[1] {
			t.Errorf("steps at ε = %v: %v and %v, not %v", row[0], row[1], row[2], want)
		}
	}
}
