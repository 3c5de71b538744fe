package metrickind

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// On every scale of quantiles, steps rise with values, every leaf has the values of its steps, and
// the leaves together have all values. On a logarithmic one, no step is wider than 1/32 of its
// distance from min, and steps are one wide up to 63.
func TestLeavesHaveTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Int64Range(-1<<36, 1<<36).Draw(t, "min")
		b := Bounds{Events: 1, Min: low, Max: low + rapid.Int64Range(1, 1<<rapid.IntRange(1, 37).Draw(t,
			"bits")).Draw(t, "range")}
		for name, make := range map[string]func(Bounds) (*Scale, error){"linear": Linear, "logarithmic": Logarithmic} {
			s, err := make(b)
			if err != nil {
				t.Fatal(err)
			}
			v := rapid.Int64Range(b.Min, b.Max).Draw(t, "value")
			least, greatest := s.Values(s.Leaf(v))
			if v < least || v > greatest || least < b.Min || greatest > b.Max {
				t.Fatalf("%s, %+v: %d is in leaf %d, which has %d to %d", name, b, v, s.Leaf(v), least, greatest)
			}
			if v < b.Max && s.Leaf(v) > s.Leaf(v+1) {
				t.Fatalf("%s, %+v: %d is in a leaf after that of %d", name, b, v, v+1)
			}
			if greatest < b.Max && (s.Leaf(greatest+1) <= s.Leaf(v) || s.Leaf(greatest) != s.Leaf(v)) {
				t.Fatalf("%s, %+v: the leaf of %d does not end at %d", name, b, v, greatest)
			}
			if s.Leaf(b.Min-1) != s.Leaf(b.Min) || s.Leaf(b.Max+1) != s.Leaf(b.Max) {
				t.Fatalf("%s, %+v: values outside are not clamped", name, b)
			}
			if name == "logarithmic" {
				d, step := v-b.Min, s.step(v)
				wide := min(s.value(step+1), b.Max+1) - s.value(step)
				if d <= 63 && wide != 1 || float64(wide) > math.Max(1, float64(d)/32) {
					t.Fatalf("%+v: the step at distance %d is %d wide", b, d, wide)
				}
			}
		}
	})
}

// The buckets of a histogram have the values between their edges, and the outer ones all values
// beyond.
func TestBucketsHaveTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := rapid.SliceOfNDistinct(rapid.Int64Range(-1000, 1000), 3, MostBuckets+1, rapid.ID[int64]).Draw(t,
			"edges")
		slices.Sort(edges)
		s, err := Buckets(edges)
		if err != nil {
			t.Fatal(err)
		}
		v := rapid.Int64Range(-1100, 1100).Draw(t, "value")
		want := 0
		for i := 1; i+1 < len(edges); i++ {
			if v >= edges[i] {
				want = i
			}
		}
		if got := s.Leaf(v); got != Node(Branching+want) || got.level() != 1 ||
			got.Parent() > Node(1+MostBuckets/Branching) {
			t.Fatalf("%v: %d is in leaf %d, want bucket %d", edges, v, got, want)
		}
	})
	for _, edges := range [][]int64{nil, {1}, {0, 1}, {0, 1, 1}, {2, 1, 3}, make([]int64, MostBuckets+2)} {
		if _, err := Buckets(edges); err == nil {
			t.Errorf("edges %v are taken", edges)
		}
	}
}
