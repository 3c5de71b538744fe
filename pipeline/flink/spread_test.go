package flink

import (
	"maps"
	"slices"
	"testing"
)

// Results of Flink 1.19 and Beam 2.70 for these numbers at every parallelism
// (KeyGroupRangeAssignment.assignKeyToParallelOperator of a FlinkKey).
func TestTasksOfKeysAreThoseOfFlink(t *testing.T) {
	keys := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 63, 64, 100, 8191, 8192, 100000}
	for parallelism, want := range map[int][]int{
		1:   {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		2:   {1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0},
		3:   {2, 2, 0, 0, 2, 2, 1, 0, 1, 0, 1, 1, 1, 2, 0, 1},
		4:   {3, 2, 0, 1, 3, 3, 1, 1, 2, 0, 2, 1, 1, 3, 0, 1},
		7:   {5, 5, 1, 1, 6, 6, 3, 2, 3, 1, 3, 2, 3, 5, 0, 3},
		50:  {40, 35, 11, 12, 48, 48, 21, 14, 27, 9, 28, 20, 23, 41, 1, 21},
		100: {90, 35, 11, 62, 48, 48, 71, 14, 77, 59, 78, 70, 23, 91, 51, 21},
	} {
		var got []int
		for _, key := range keys {
			got = append(got, taskOf(key, parallelism))
		}
		if !slices.Equal(got, want) {
			t.Errorf("parallelism %d: %v, want %v", parallelism, got, want)
		}
	}
}

func TestSpreadUsesEveryTask(t *testing.T) {
	for _, parallelism := range []int{1, 2, 3, 4, 7, 50, 200} {
		for _, n := range []int{0, 1, parallelism, 3*parallelism + 1} {
			keys := Spread(parallelism)(n)
			distinct, load := map[int]bool{}, map[int]int{}
			for _, key := range keys {
				distinct[key] = true
				load[taskOf(key, parallelism)]++
			}
			if len(distinct) != n || len(load) != min(n, parallelism) {
				t.Errorf("parallelism %d: %d numbers, %d of them distinct, on %d tasks", parallelism, n, len(distinct),
					len(load))
			}
			loads := slices.Collect(maps.Values(load))
			if n > 0 && slices.Max(loads)-slices.Min(loads) > 1 {
				t.Errorf("parallelism %d: the tasks have %v of %d", parallelism, load, n)
			}
		}
	}
}
