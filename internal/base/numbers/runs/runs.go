// Package runs sorts slices that usually consist of a few ascending runs.
package runs

import "slices"

// minRun is the minimum average length of runs that Sort merges; below it, sorting is faster.
const minRun = 16

// Sort sorts items that usually consist of a few ascending runs, by merging the runs in pairs: O(n)
// for one run, O(n·log k) for k. It also sorts items in any other order. It is not stable. spare is
// memory for the merges, and may be nil. Sort returns the sorted items, and the unused memory.
func Sort[T any](items, spare []T, compare func(a, b T) int) (sorted, rest []T) {
	var ends []int
	for i := 1; i < len(items); i++ {
		if compare(items[i-1], items[i]) > 0 {
			ends = append(ends, i)
		}
		if len(ends) > 1+len(items)/minRun {
			slices.SortFunc(items, compare)
			return items, spare
		}
	}
	for len(ends) > 0 {
		spare = slices.Grow(spare[:0], len(items))
		from, mergedEnds := 0, ends[:0]
		for i := 0; ; i += 2 {
			if i >= len(ends) { // the last run has no partner
				spare = append(spare, items[from:]...)
				break
			}
			to := len(items)
			if i+1 < len(ends) {
				to = ends[i+1]
			}
			spare = mergeRuns(spare, items[from:ends[i]], items[ends[i]:to], compare)
			if from = to; from == len(items) {
				break
			}
			mergedEnds = append(mergedEnds, from)
		}
		items, spare, ends = spare, items, mergedEnds
	}
	return items, spare
}

// mergeRuns appends two ascending runs to dst, merged in ascending order.
func mergeRuns[T any](dst, a, b []T, compare func(a, b T) int) []T {
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) <= 0 {
			dst, a = append(dst, a[0]), a[1:]
		} else {
			dst, b = append(dst, b[0]), b[1:]
		}
	}
	return append(append(dst, a...), b...)
}
