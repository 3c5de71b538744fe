package budgets

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

// The planned part and the rest add up to the whole, to the unit, and keep its promise together.
func TestRuleAPlannedPartIsTakenFromThePromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]float64{0, 1e-9, 1e-7}).Draw(t, "delta_keys")
		whole := must.Have(NewBudget(rapid.Float64Range(.01, 5).Draw(t, "epsilon"), 1e-6, GDP, keys))
		share := rapid.Float64Range(1e-4, .99).Draw(t, "share")
		left := must.Have(whole.Plan(share))
		if left.Whole() != whole {
			t.Fatalf("%+v is not the whole %+v", left.Whole(), whole)
		}
		if got, want := left.Planned.Mu2.Float(), share*whole.Mu2.Float(); got > want || got < want-0x1p-40 {
			t.Fatalf("planned %v of B², want %v", got, want)
		}
		if got, want := left.Planned.Keys.Float(), share*whole.Keys.Float(); got > want*(1+1e-12) ||
			got < want*(1-1e-12)-0x1p-80 {
			t.Fatalf("planned %v of δ_keys, want %v", got, want)
		}
		if d := deltaOver(whole.Epsilon, GDP, left); d > whole.Delta || d != deltaOver(whole.Epsilon, GDP, whole) {
			t.Fatalf("both parts come to δ = %v, the whole to %v, promised was %v", d,
				deltaOver(whole.Epsilon, GDP, whole), whole.Delta)
		}
	})
}

func TestPlanRefusesWhatIsNoShare(t *testing.T) {
	whole := must.Have(NewBudget(1, 1e-6, GDP, 0))
	for _, share := range []float64{-.1, 1, 1e-300} {
		var out *units.RangeError
		if _, err := whole.Plan(share); !errors.As(err, &out) {
			t.Errorf("Plan(%v) = %v, want a units.RangeError", share, err)
		}
	}
	if b, err := whole.Plan(0); err != nil || b != whole {
		t.Errorf("Plan(0) = %+v, %v", b, err)
	}
	left := must.Have(whole.Plan(.1))
	if _, err := left.Plan(.1); err == nil {
		t.Error("a second part is taken of a budget that has none of the first any more")
	}
}
