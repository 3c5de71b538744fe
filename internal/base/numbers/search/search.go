package search

// Least returns the least n in (lo, hi] for which holds is true. holds must be false at lo and true
// at hi, which are not evaluated, and change once in between. From start, which may be any value,
// the search walks with growing strides until it has passed the change, and then bisects: about
// 2·log2(d) + 2 evaluations at a distance of d, and never more than twice as many as bisection.
func Least(lo, hi, start uint64, holds func(n uint64) bool) uint64 {
	next := start
	for stride := uint64(1); hi-lo > 1; stride *= 2 {
		if next <= lo || next >= hi {
			next = lo + (hi-lo)/2
		}
		if holds(next) {
			hi = next
			next -= min(stride, next)
		} else {
			lo = next
			next += min(stride, hi-next)
		}
	}
	return hi
}
