package reference

import "math/big"

// TopPrecision returns u_top in units of 2^-80: the largest precision at which at
// least n windows of an individual with k keys of c_max each fit into a share of a budget (units of
// 2^-40). Every charge is rounded up by itself, so budgets are divided into whole units first: a
// window has ⌊share·B²/n⌋ of them, and each key gets an equal part, which bounds its charge
// ⌈c²·u·2^-40⌉.
func TopPrecision(share *big.Rat, budget *big.Int, n, k uint64, cMax *big.Int) *big.Int {
	part := new(big.Rat).Mul(share, new(big.Rat).SetInt(budget))
	window := floor(part.Quo(part, whole(n)))
	u := window.Lsh(window.Quo(window, whole(k).Num()), 40)
	return u.Quo(u, new(big.Int).Mul(cMax, cMax))
}

// WindowsOfAPeriod returns the most windows of one metric that overlap one budget period, wherever
// the period begins: the greatest number of multiples of slide strictly between b and b + period +
// size over all multiples b of period. It tries them all.
func WindowsOfAPeriod(period, size, slide int64) uint64 {
	most := int64(0)
	for begin := int64(0); begin == 0 || begin%slide != 0; begin += period {
		first := begin/slide + 1
		after := (begin + period + size + slide - 1) / slide
		most = max(most, after-first)
	}
	return uint64(most)
}
