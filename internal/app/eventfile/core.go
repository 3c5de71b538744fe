package eventfile

import "slices"

// sampled is how many times a sample has at most.
const sampled = 1 << 12

// sample keeps times from all over those that it is given, at equal distances.
type sample struct {
	times []int64
	every int64 // a power of 2
	given int64
}

func (s *sample) add(millis int64) {
	if s.every == 0 {
		s.every = 1
	}
	if s.given%s.every == 0 {
		if len(s.times) == sampled {
			for i := range sampled / 2 {
				s.times[i] = s.times[2*i]
			}
			s.times, s.every = s.times[:sampled/2], 2*s.every
		}
		if s.given%s.every == 0 {
			s.times = append(s.times, millis)
		}
	}
	s.given++
}

// Core returns a range of times, first and last included, without the few records that stretch it:
// as long as what is left is longer than limit and more than half of it is a gap, whichever side of
// the gap has fewer records is left out. Both are milliseconds. Of a large file it looks at some
// thousand records and the two extremes. It may be called while Timed is above 0.
func (d *Dataset) Core(limit int64) (first, last int64) {
	times := append([]int64{d.First, d.Last}, d.times.times...)
	slices.Sort(times)
	for times[len(times)-1]-times[0] > limit {
		widest := 1
		for i := 1; i < len(times); i++ {
			if times[i]-times[i-1] > times[widest]-times[widest-1] {
				widest = i
			}
		}
		if 2*(times[widest]-times[widest-1]) <= times[len(times)-1]-times[0] {
			break
		}
		if widest <= len(times)-widest { // a time that is not set is more often too early
			times = times[widest:]
		} else {
			times = times[:widest]
		}
	}
	return times[0], times[len(times)-1]
}
