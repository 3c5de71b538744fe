package spend

import (
	"math"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

func sumMetric(lo, hi int64, keys ...string) schemas.MetricSpec {
	m := publicMetric("s", keys...)
	m.Kind, m.Min, m.Max, m.MaxEventsPerKey = metrickind.Sum, lo, hi, 3
	return m
}

// cellOf returns what the accounts count for a metric's key in the turn that ends now.
func cellOf(t testing.TB, a *shardAccounts, metric uint32, key string) (int64, bool) {
	t.Helper()
	blobs := must.Have(a.partials(0, &schemas.Open{Turn: a.turn, Shards: 1}))
	p := must.Have(schemas.DecodePartial(blobs[0].Data))
	for _, c := range p.Cells {
		if c.Metric == metric && string(c.Key) == key {
			return c.Count, true
		}
	}
	return 0, false
}

// From more events than a label's number can be, a sum selects the same ones in every order.
func TestASumOfMoreEventsThanANumberHoldsIsDecided(t *testing.T) {
	s := deployment(1<<40, sumMetric(0, 9, "a"))
	var sums []int64
	for _, values := range [][2]int64{{1, 2}, {2, 1}} {
		a := newShardAccounts(mustWorld(t, s).rules, oneSlice{})
		var batches []schemas.Contributions
		for _, value := range values {
			c := must.Have(schemas.DecodeContributions(new(schemas.UserMemory),
				s.batch(1, 1, 0, []contribution{{user: 1, key: "a", n: 3e9, value: value}})))
			batches = append(batches, c)
		}
		g, records, err := mergeBatches(a.rules, new(merged), batches)
		if err != nil {
			t.Fatal(err)
		}
		must.Have(a.decide(1, s.windows(1), g, records))
		sum, _ := cellOf(t, a, 0, "a")
		if sums = append(sums, sum); sum != sums[0] || sum%3 != 0 ||
			a.decided.delta.Tallies[0] != (schemas.WindowTally{Counted: 3, Beyond: math.MaxUint32 - 3}) {
			t.Errorf("sums %v, tally %+v", sums, a.decided.delta.Tallies[0])
		}
	}
}

// A definition of a kind that is not in the table would be counted and charged as something else.
func TestAKindThatIsNotInTheTableIsRefused(t *testing.T) {
	m := publicMetric("m", "a")
	m.Kind = "median"
	_, err := NewRules(budgets.Budget{Mu2: 1}, testHashKey, []schemas.MetricSpec{m}, 1, 1, 4)
	if err == nil || !strings.Contains(err.Error(), `"median"`) {
		t.Errorf("got %v", err)
	}
}
