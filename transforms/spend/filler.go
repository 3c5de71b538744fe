package spend

import "github.com/tollgate-dp/tollgate/state/units"

// Filler chooses the counted part of a user's keys, for pipelines without an Engine whose metrics
// count events or users. The zero value is ready. Not for concurrent use.
type Filler struct {
	water water
	even  evenPrice
}

// evenPrice is the price c²·u of c of any key.
type evenPrice struct {
	top    units.Precision
	rankOf func(key int) [16]byte
}

func (p *evenPrice) price(_ int, c uint64) (units.Mu2, bool) { return units.Charge(c, p.top) }
func (p *evenPrice) rank(key int) [16]byte                   { return p.rankOf(key) }

// Fill returns the counted amount of each key of a user with the given sizes, and its cost at the
// precision top: the most that the allowance pays for, with the same level in all keys that are not
// counted in full. rank orders the user's keys. The counts are valid until the next call.
func (f *Filler) Fill(sizes []uint64, allowance units.Mu2, top units.Precision,
	rank func(key int) [16]byte) (counts []uint64, cost units.Mu2) {
	f.even = evenPrice{top, rank}
	counts = f.water.fill(sizes, allowance, &f.even)
	for _, c := range counts {
		if c > 0 {
			charge, _ := units.Charge(c, top) // fill has checked that it fits
			cost += charge
		}
	}
	return counts, cost
}
