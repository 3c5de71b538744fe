package protected

// Range returns the range in which nine in ten values of most individuals lie: the rows of values
// double, and say of values on either side of 0 only how far they go. It ends at 0 where none is
// beyond, so that it has more than what the table shows on the side of 0, and a mean of values that
// are clamped to it is not moved.
func (r *Release) Range() (least, most int64) {
	for row, n := range r.Values {
		if n < visibleValue*r.ValuesSigma {
			continue
		}
		switch step := row - valueSteps; {
		case step > 0:
			most = max(most, 1<<step)
		case step < 0:
			least = min(least, -(1 << -step))
		}
	}
	if least == 0 && most == 0 {
		most = 1
	}
	return least, most
}
