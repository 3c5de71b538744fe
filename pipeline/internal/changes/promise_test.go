package changes

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// headerWith is the header of a deployment with this promise, and with private keys or public ones.
func headerWith(t *testing.T, epsilon, delta, keys float64, private bool) *schemas.Header {
	t.Helper()
	cfg := deploytest.Config("localhost:1")
	cfg.Privacy.Epsilon, cfg.Privacy.Delta, cfg.Privacy.DeltaKeys = epsilon, delta, keys
	if private {
		m := cfg.Metrics[0]
		m.Name, m.Keys = "private", deployment.Keys{Mode: deployment.KeysPrivate}
		cfg.Metrics = append(cfg.Metrics, m)
	}
	d := must.Have(deployment.Compile(cfg))
	h := Header(d)
	return &h
}

func TestRuleOnlyWhatWasReservedGoesToPrivateKeys(t *testing.T) {
	type promise struct {
		epsilon, delta, keys float64
		private              bool
	}
	for _, tc := range []struct {
		from, to promise
		never    []string // expected reasons; none: it is allowed
		what     string
	}{
		// In these three cases all generations together would amount to 1.1, 1.895 and 1.69 times
		// δ.
		{promise{1, 1e-6, 0, false}, promise{1, 1e-6, 1e-7, true},
			[]string{"it would be 1e-07", "reserved nothing", "new deployment", "privacy.delta_keys"}, "delta_keys"},
		{promise{1, 1e-6, 0, false}, promise{1, 1e-6, 9e-7, true}, []string{"it would be 9e-07", "reserved nothing"},
			"delta_keys"},
		{promise{1, 1e-3, 1e-4, true}, promise{1, 1e-3, 9e-4, true},
			[]string{"it would be 0.0009", "reserved 0.0001", "write privacy.delta_keys: 0.0001", "new deployment"},
			"delta_keys"},
		// The first private metric, with the default of a tenth, if nothing is reserved, if less
		// is, and if more is: then users could spend more.
		{promise{1, 1e-6, 0, false}, promise{1, 1e-6, 0, true}, []string{"it would be 1e-07", "reserved nothing"},
			"delta_keys"},
		{promise{1, 1e-6, 3e-8, false}, promise{1, 1e-6, 0, true},
			[]string{"it would be 1e-07", "write privacy.delta_keys: 3e-08 (without it: a tenth"}, "delta_keys"},
		{promise{1, 1e-6, 3e-7, false}, promise{1, 1e-6, 0, true},
			[]string{"fall from 3e-07 to 1e-07", "write privacy.delta_keys: 3e-07 (without it: a tenth"}, "delta_keys"},
		{promise{1, 1e-6, 3e-7, false}, promise{1, 1e-6, 3e-7, true}, nil, "the metric private"},
		// Its removal, when δ_keys is left out.
		{promise{1, 1e-6, 0, true}, promise{1, 1e-6, 0, false},
			[]string{"fall from 1e-07 to 0", "write privacy.delta_keys: 1e-07", "else 0"}, "delta_keys"},
		{promise{1, 1e-6, 0, true}, promise{1, 1e-6, 1e-7, false}, nil, "the metric private"},
		// A stronger promise, with the same reserve and without.
		{promise{1, 1e-6, 1e-7, true}, promise{0.5, 1e-6, 1e-7, true}, nil, "the budget (epsilon, delta, delta_keys)"},
		{promise{1, 1e-6, 1e-7, true}, promise{0.5, 1e-6, 0, false}, nil,
			"of which delta_keys falls from 1e-07 to 0 and can never rise again"},
		{promise{1, 1e-6, 1e-7, true}, promise{0.5, 1e-6, 2e-7, true}, []string{"it would be 2e-07", "reserved 1e-07"},
			"delta_keys"},
		{promise{1, 1e-6, 0, false}, promise{1.5, 1e-6, 0, false},
			[]string{"never weaker", "epsilon would rise from 1 to 1.5"}, "the budget"},
		{promise{1, 1e-6, 0, false}, promise{0.5, 2e-6, 0, false},
			[]string{"never weaker", "delta would rise from 1e-06 to 2e-06"}, "the budget"},
		// An amount that is not a whole number of units: the suggested value gives the same budget.
		{promise{1, 1e-20, 1e-21, false}, promise{1, 1e-20, 2e-21, true}, []string{"write privacy.delta_keys: 1e-21 ("},
			"delta_keys"},
	} {
		all := Differences(headerWith(t, tc.from.epsilon, tc.from.delta, tc.from.keys, tc.from.private),
			headerWith(t, tc.to.epsilon, tc.to.delta, tc.to.keys, tc.to.private))
		if len(all) == 0 || (all[0].Never == "") != (tc.never == nil) {
			t.Errorf("from %v to %v: %+v", tc.from, tc.to, all)
			continue
		}
		reported := false
		for _, d := range all {
			reported = reported || strings.Contains(d.What, tc.what)
		}
		if !reported {
			t.Errorf("from %v to %v: nothing says %q: %+v", tc.from, tc.to, tc.what, all)
		}
		for _, want := range tc.never {
			if !strings.Contains(all[0].Never, want) {
				t.Errorf("from %v to %v: want a text with %q: %+v", tc.from, tc.to, want, all[0])
			}
		}
	}
}

// Sequences of changes: whatever is let pass keeps the promise of every generation, and
// so HEADER's: δ of the largest B² and the largest δ_keys are at most δ.
func TestRuleGenerationsTogetherKeepThePromise(t *testing.T) {
	base := headerWith(t, 1, 1e-6, 0, false)
	known := map[[3]float64]budgets.Budget{}
	rapid.Check(t, func(t *rapid.T) {
		budget := func(epsilon, delta, keys float64) budgets.Budget {
			promise := [3]float64{epsilon, delta, keys}
			if _, ok := known[promise]; !ok {
				b := must.Have(budgets.NewBudget(epsilon, delta, budgets.GDP, keys*delta))
				known[promise] = b
			}
			return known[promise]
		}
		draw := func() budgets.Budget {
			return budget(rapid.SampledFrom([]float64{1, 0.999, 0.7}).Draw(t, "ε"),
				rapid.SampledFrom([]float64{1e-6, 0.99e-6, 1e-9}).Draw(t, "δ"),
				rapid.SampledFrom([]float64{0, 0, 0.1, 0.5, 0.9}).Draw(t, "δ_keys/δ"))
		}
		planned := func() budgets.Budget {
			return must.Have(draw().Plan(rapid.SampledFrom([]float64{0, 0, 0.05, 0.4}).Draw(t, "planned")))
		}
		h := *base
		h.Budget = planned()
		inOrder := []budgets.Budget{h.Budget}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			want := h
			want.Budget = planned()
			if all := Differences(&h, &want); len(all) == 0 || all[0].Never == "" {
				h = want
				inOrder = append(inOrder, h.Budget)
			}
		}
		first := inOrder[0]
		for _, b := range inOrder[1:] { // the planned part was spent under the first one
			if b.Planned.Share != first.Planned.Share {
				t.Fatalf("the planned share changed from %v to %v", first.Planned.Share, b.Planned.Share)
			}
			if b.Planned = first.Planned; b.Whole().Mu2 > first.Whole().Mu2 ||
				b.Whole().Keys.Cmp(first.Whole().Keys) > 0 {
				t.Fatalf("with what was planned under %v, %v is more than was promised", first, b)
			}
		}
	})
}
