package protected

import "testing"

// The range reaches the end of every row that is visible, and 0.
func TestRangeOfValues(t *testing.T) {
	for _, c := range []struct {
		values      []int64
		least, most int64
	}{
		{[]int64{33}, 0, 64}, {[]int64{1}, 0, 2}, {[]int64{5, 100}, 0, 128}, {[]int64{-3, 9}, -4, 16}, {[]int64{-64}, -128, 0}, {[]int64{0}, 0, 1},
	} {
		r := &Release{Values: make([]float64, valueRows), ValuesSigma: 2}
		for _, v := range c.values {
			r.Values[valueRow(v)] = 2 * visibleValue
		}
		r.Values[valueRow(1<<30)] = visibleValue // less than is visible
		if least, most := r.Range(); least != c.least || most != c.most {
			t.Errorf("%v: from %d to %d, want %d to %d", c.values, least, most, c.least, c.most)
		}
	}
}
