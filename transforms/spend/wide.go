package spend

import (
	"math"
	"math/bits"

	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// wide is a sum of int64s in 128 bits, two's complement: high·2^64 + low. It would
// take 2^64 of them to leave its range.
type wide struct {
	high int64
	low  uint64
}

func (w wide) add(n int64) wide {
	low, carry := bits.Add64(w.low, uint64(n), 0)
	return wide{w.high + n>>63 + int64(carry), low}
}

// fits says whether the sum is an int64.
func (w wide) fits() bool { return w.high == int64(w.low)>>63 }

// clamped is the sum, cut to what can be released.
func (w wide) clamped() int64 {
	const most = noisereduction.MaxCount
	switch {
	case w.fits():
		return min(max(int64(w.low), -most), most)
	case w.high < 0:
		return -most
	}
	return most
}

// parts calls add for int64s that add up to the sum: one, unless it does not fit.
func (w wide) parts(add func(n int64)) {
	for !w.fits() {
		part := int64(math.MaxInt64)
		if w.high < 0 {
			part = -math.MaxInt64
		}
		add(part)
		w = w.add(-part)
	}
	add(int64(w.low))
}
