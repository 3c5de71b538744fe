package bucket_test

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/pld"
)

func newTable(t testing.TB, o bucket.Options, pairs ...pld.Pair) *bucket.Table {
	t.Helper()
	table, err := bucket.NewTable(pairs, o)
	if err != nil {
		t.Fatalf("making a table: %v", err)
	}
	return table
}

// curveOf returns the curve of counts in the table.
func curveOf(t testing.TB, table *bucket.Table, counts ...uint32) *bucket.Curve {
	t.Helper()
	c := table.NewCurve()
	if err := c.Set(counts); err != nil {
		t.Fatalf("setting counts: %v", err)
	}
	return c
}

func deltaAt(t testing.TB, c interface {
	DeltaAt(float64) (float64, error)
}, epsilon float64) float64 {
	t.Helper()
	d, err := c.DeltaAt(epsilon)
	if err != nil {
		t.Fatalf("delta at %v: %v", epsilon, err)
	}
	return d
}

func epsilonAt(t testing.TB, c interface {
	EpsilonAt(float64) (float64, error)
}, delta float64) float64 {
	t.Helper()
	e, err := c.EpsilonAt(delta)
	if err != nil {
		t.Fatalf("epsilon at %v: %v", delta, err)
	}
	return e
}

// errorAt returns the part of the δ at epsilon that is error bound.
func errorAt(t testing.TB, c *bucket.Curve, epsilon float64) float64 {
	t.Helper()
	by, err := c.ErrorAt(epsilon)
	if err != nil {
		t.Fatalf("error at %v: %v", epsilon, err)
	}
	return by
}

func smallestMu(t testing.TB, c *bucket.Curve, slack float64) float64 {
	t.Helper()
	mu, err := c.SmallestMu(slack)
	if err != nil {
		t.Fatalf("smallest mu at slack %v: %v", slack, err)
	}
	return mu
}

// gaussianDelta returns the δ of μ-GDP from package budgets: another implementation, in
// 384 bits.
func gaussianDelta(t testing.TB, mu, epsilon float64) float64 {
	t.Helper()
	if epsilon == 0 {
		return math.Erf(mu / math.Sqrt(8))
	}
	c, err := budgets.ConvertEpsilonMu(epsilon, mu, budgets.GDP)
	if err != nil {
		t.Fatalf("delta of mu %v at %v: %v", mu, epsilon, err)
	}
	return c.Delta
}

func ladder(t testing.TB, lowest, highest float64, levels int) bucket.Ladder {
	t.Helper()
	l, err := bucket.NewGeometricLadder(lowest, highest, levels)
	if err != nil {
		t.Fatalf("making a ladder: %v", err)
	}
	return l
}

func ladderTable(t testing.TB, l bucket.Ladder, sampling float64, o bucket.Options) *bucket.Table {
	t.Helper()
	pairs, err := l.Pairs(sampling)
	if err != nil {
		t.Fatalf("pairs of a ladder: %v", err)
	}
	return newTable(t, o, pairs...)
}
