package deployment

import (
	"math/big"
	"sort"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// KeysAcross is for tests where too much passes for any promise to be stated.
var KeysAcross = keyDeltaRatio

// MostOfKey returns how many events of a key a full bucket of the first metric pays for, and how
// many its even part in every window; of a sum, how much of the sum of values.
func MostOfKey(d *Deployment) (atOnce, always uint64) {
	m := &d.Metrics[0].Spec
	var sums []metrickind.Kind
	var scale *metrickind.Scale
	for _, spec := range d.Specs() {
		switch kind := metrickind.Of(spec.Kind); {
		case spec.Of != m.Name:
		case kind.HasNodes():
			scale, _ = spec.Scale()
		case kind.Part != nil:
			sums = append(sums, kind)
		}
	}
	most := func(amount *big.Int) uint64 {
		return uint64(sort.Search(int(min(m.Most(), 1<<30)), func(n int) bool {
			b := m.Bounds()
			if b.Events = int64(n + 1); metrickind.Of(m.Kind).Sums() {
				b.Min, b.Max = 0, 1
			}
			return worstCost(metrickind.Of(m.Kind), b, sums, scale, m.Top).Cmp(amount) > 0
		}))
	}
	windows := max(1, (m.Horizon+m.WindowSlide-1)/m.WindowSlide)
	all := new(big.Int).Add(accountUnits(m.Burst), accountUnits(m.Refill))
	return most(accountUnits(m.Burst)), most(all.Quo(all, big.NewInt(windows)))
}
