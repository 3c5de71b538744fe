package bucket_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/atrest"
	"github.com/tollgate-dp/tollgate/state/bucket"
)

func restingFilter(t testing.TB, lowest, sampling float64, o bucket.Options, b bucket.Budget) *bucket.Filter {
	t.Helper()
	ladder, err := bucket.NewLadder(lowest, 40, 4)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := ladder.Pairs(sampling)
	if err != nil {
		t.Fatal(err)
	}
	table, err := bucket.NewTable(pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := bucket.NewGate(table, b)
	if err != nil {
		t.Fatal(err)
	}
	f, err := bucket.NewFilter(gate, ladder)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var (
	restingOptions = bucket.Options{Interval: 0x1p-7, Points: 1 << 9, Tail: 1e-8}
	restingBudget  = bucket.Budget{Mu: 0.5, Slack: 1e-6}
)

func restingSubject(t testing.TB) atrest.Subject {
	f := restingFilter(t, 4, 0.25, restingOptions, restingBudget)
	return atrest.Subject{
		Name:  "filter",
		Fresh: func() atrest.Value { return f.Fresh().(*bucket.Filter) },
		Use: func(v atrest.Value) {
			for _, sigma := range []float64{5, 20, 20} {
				if err := v.(*bucket.Filter).Spend(bucket.Noise{Sigma: sigma}); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
}

func TestStatesAtRest(t *testing.T) { atrest.Check(t, restingSubject(t)) }

func FuzzStates(f *testing.F) { atrest.Fuzz(f, []atrest.Subject{restingSubject(f)}) }

func TestAStateOfAnotherGateIsRefused(t *testing.T) {
	f := restingFilter(t, 4, 0.25, restingOptions, restingBudget)
	b, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	finer := restingOptions
	finer.Interval /= 2
	for name, c := range map[string]struct {
		into *bucket.Filter
		want string
	}{
		"μ":        {restingFilter(t, 4, 0.25, restingOptions, bucket.Budget{Mu: 0.25, Slack: 1e-6}), "another budget"},
		"slack":    {restingFilter(t, 4, 0.25, restingOptions, bucket.Budget{Mu: 0.5, Slack: 2e-6}), "another budget"},
		"sampling": {restingFilter(t, 4, 0.125, restingOptions, restingBudget), "another table"},
		"interval": {restingFilter(t, 4, 0.25, finer, restingBudget), "another table"},
		"ladder":   {restingFilter(t, 5, 0.25, restingOptions, restingBudget), "another table"},
		"nothing":  {new(bucket.Filter), "constructor made"},
	} {
		if err := c.into.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("another %s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAStoredFilterGoesOnExactly(t *testing.T) {
	straight := restingFilter(t, 4, 0.25, restingOptions, restingBudget)
	split := straight.Fresh().(*bucket.Filter)
	refused := 0
	for i := range 200 {
		n := bucket.Noise{Sigma: []float64{4, 17, 30, 40}[i*7%4]}
		b, err := split.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		split = straight.Fresh().(*bucket.Filter)
		if err := split.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		a, r := straight.Spend(n), split.Spend(n)
		if (a == nil) != (r == nil) {
			t.Fatalf("step %d: %v and, resumed, %v", i, a, r)
		}
		if a != nil {
			refused++
		}
		if straight.Left() != split.Left() || straight.Spent() != split.Spent() {
			t.Fatalf("step %d: left %v and %v", i, straight.Left(), split.Left())
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: the budget was not reached")
	}
}

// What is spent is at least what sampling makes of it, at most what the noise alone would cost,
// and never more than the budget.
func TestSpentOfAFilter(t *testing.T) {
	f := restingFilter(t, 4, 0.25, restingOptions, restingBudget)
	if s := f.Spent(); !math.IsInf(s.Sigma, 1) {
		t.Errorf("nothing was accepted, and %v spent", s)
	}
	last := math.Inf(1)
	for f.Spend(bucket.Noise{Sigma: 4}) == nil {
		s := f.Spent().Sigma
		if s > last || s < f.Budget().Sigma*(1-1e-12) {
			t.Errorf("σ̃ of what was spent is %v, %v before, budget %v", s, last, f.Budget())
		}
		last = s
	}
	if math.IsInf(last, 1) {
		t.Error("nothing was accepted")
	}
	exact := restingFilter(t, 4, 1, restingOptions, restingBudget)
	if err := exact.Spend(bucket.Noise{Sigma: 4}); err != nil {
		t.Fatal(err)
	}
	if s := exact.Spent().Sigma; s > 4 || s < 4*(1-1e-9) {
		t.Errorf("one release of σ̃ = 4 is %v", s)
	}
}
