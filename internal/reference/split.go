package reference

import "math/big"

// TopPrecision is definitions.md's u_top in units of 2^-80: the largest precision at which at least n windows of a user with k
// keys of c events each fit into a share of a budget (units of 2^-40). Each of the n·k charges is rounded up by itself, so
// ⌊share·B²/(n·k)⌋ account units bound one charge ⌈c²·u·2^-40⌉, and u is the largest precision within that bound.
func TopPrecision(share *big.Rat, budget *big.Int, n, k, c uint64) *big.Int {
	part := new(big.Rat).Mul(share, new(big.Rat).SetInt(budget))
	part.Quo(part, whole(n))
	part.Quo(part, whole(k))
	u := new(big.Int).Lsh(floor(part), 40)
	return u.Quo(u, new(big.Int).Mul(whole(c).Num(), whole(c).Num()))
}

// KeyDelta is definitions.md's δ_key in units of 2^-80: ⌊share·δ_keys/(n·k)⌋.
func KeyDelta(share *big.Rat, keys *big.Int, n, k uint64) *big.Int {
	part := new(big.Rat).Mul(share, new(big.Rat).SetInt(keys))
	part.Quo(part, whole(n))
	part.Quo(part, whole(k))
	return floor(part)
}
