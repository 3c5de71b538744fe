package reference

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestALogarithmicStepIsAtMostAPartIn32OfTheDistance(t *testing.T) {
	s := steps{min: -5, max: 1 << 20, logarithmic: true}
	for far, want := range map[int64]int64{0: 0, 1: 1, 63: 63, 64: 64, 65: 64, 66: 65, 127: 95, 128: 96, 131: 96, 132: 97, 1 << 20: 32*15 + 32} {
		if got := s.of(s.min + far); got != want {
			t.Errorf("the step at a distance of %d is %d, not %d", far, got, want)
		}
	}
}

// The nodes of a level divide the values among them, and each is in the one that has it.
func TestEveryValueIsInOneNodeOfALevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := steps{min: rapid.Int64Range(-50, 50).Draw(t, "min"), logarithmic: rapid.Bool().Draw(t, "logarithmic")}
		s.max = s.min + rapid.Int64Range(1, 1<<20).Draw(t, "range")
		value := rapid.Int64Range(s.min, s.max).Draw(t, "value")
		for i, n := range s.nodesWith(value) {
			least, greatest := s.valuesAt(n)
			if n.level() != i+1 || value < least || value > greatest || i > 0 && n.parent() != s.nodesWith(value)[i-1] {
				t.Fatalf("%d is in node %d of level %d, which has the values %d to %d", value, n, i+1, least, greatest)
			}
		}
	})
}

func TestABucketHasItsLowerEdge(t *testing.T) {
	s := steps{min: -2, max: 9, edges: []int64{-2, 0, 1, 2, 3, 4, 5, 6, 7, 9}}
	for value, bucket := range map[int64]node{-2: 0, -1: 0, 0: 1, 6: 7, 7: 8, 8: 8, 9: 8} {
		if got := s.nodesWith(value); !slices.Equal(got, []node{8 + bucket}) {
			t.Errorf("%d is in node %v, not in bucket %d", value, got, bucket)
		}
	}
	if got := s.parents(); !slices.Equal(got, []node{1, 2}) {
		t.Errorf("nine buckets have the parents %v", got)
	}
}
