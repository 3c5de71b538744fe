package bucket_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/pld"
)

func newTable(t testing.TB, o bucket.Options, pairs ...pld.Pair) *bucket.Table {
	t.Helper()
	return must.Have(bucket.NewTable(pairs, o))
}

func curveOf(t testing.TB, table *bucket.Table, counts ...uint32) *bucket.Curve {
	t.Helper()
	c := table.NewCurve()
	must.Have(0, c.Set(counts))
	return c
}

// gaussianDelta returns the δ of μ-GDP from package budgets: another implementation, in 384 bits.
func gaussianDelta(t testing.TB, mu, epsilon float64) float64 {
	t.Helper()
	if epsilon == 0 {
		return math.Erf(mu / math.Sqrt(8))
	}
	c := must.Have(budgets.ConvertEpsilonMu(epsilon, mu, budgets.GDP))
	return c.Delta
}

func ladderTable(t testing.TB, l bucket.Ladder, sampling float64, o bucket.Options) *bucket.Table {
	t.Helper()
	pairs := must.Have(l.Pairs(sampling))
	return newTable(t, o, pairs...)
}
