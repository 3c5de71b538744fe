package spend

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/units"
)

// vessels are keys with a price each and ranks.
type vessels struct {
	prices [][]units.Mu2 // by key and how much is counted; nil: its square
	ranks  []byte
}

func (v *vessels) price(key int, c uint64) (units.Mu2, bool) {
	if v.prices == nil {
		return units.Mu2(c * c), c < math.MaxUint32
	}
	return v.prices[key][c], v.prices[key][c] < units.MaxMu2
}

func (v *vessels) rank(key int) (r [16]byte) {
	r[0] = v.ranks[key]
	return r
}

func (v *vessels) cost(counts []uint64) (sum units.Mu2) {
	for key, c := range counts {
		if c > 0 {
			cost, _ := v.price(key, c)
			sum += cost
		}
	}
	return sum
}

func total(counts []uint64) (sum uint64) {
	for _, c := range counts {
		sum += c
	}
	return sum
}

// most returns the greatest number that can be counted, by trying every choice.
func most(sizes []uint64, allowance units.Mu2) (best uint64) {
	if len(sizes) == 0 {
		return 0
	}
	for c := uint64(0); c <= sizes[0] && units.Mu2(c*c) <= allowance; c++ {
		best = max(best, c+most(sizes[1:], allowance-units.Mu2(c*c)))
	}
	return best
}

// TestRuleWaterFillsKeysToOneLevel: whatever the prices, the choice is within the allowance, one
// level and one more by rank, does not depend on the order of keys, and cannot be raised. Where all
// keys cost the same, no choice counts more.
func TestRuleWaterFillsKeysToOneLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Uint64Range(0, 7), 0, 5).Draw(t, "sizes")
		v := vessels{ranks: rapid.Permutation([]byte{1, 2, 3, 4, 5}).Draw(t, "ranks")[:len(sizes)]}
		if rapid.Bool().Draw(t, "prices") {
			for _, size := range sizes {
				amounts := []units.Mu2{0}
				for range size {
					amounts = append(amounts, amounts[len(amounts)-1]+units.Mu2(rapid.Uint64Range(0, 30).Draw(t,
						"dearer")))
				}
				if size > 0 && rapid.Bool().Draw(t, "beyond any account") {
					amounts[size] = units.MaxMu2
				}
				v.prices = append(v.prices, amounts)
			}
		}
		allowance := units.Mu2(rapid.Uint64Range(0, 120).Draw(t, "allowance"))
		var w water
		counts := slices.Clone(w.fill(sizes, allowance, &v))
		if v.cost(counts) > allowance {
			t.Fatalf("%v cost %d of %d", counts, v.cost(counts), allowance)
		}
		if v.prices == nil && total(counts) != most(sizes, allowance) {
			t.Fatalf("%v are counted of %v, and %d could be", counts, sizes, most(sizes, allowance))
		}
		level := uint64(math.MaxUint64)
		for key, c := range counts {
			if c < sizes[key] {
				level = min(level, c)
			}
		}
		var all units.Mu2 // sum one level up
		for key, c := range counts {
			if c > sizes[key] || c < sizes[key] && c > level+1 || c < min(sizes[key], level) {
				t.Fatalf("%v of %v are not one level, and one more", counts, sizes)
			}
			if level == math.MaxUint64 || sizes[key] == 0 {
				continue
			}
			next, ok := v.price(key, min(sizes[key], level+1))
			if all += next; !ok || all > allowance {
				all = units.MaxMu2 / 10
			}
			if c < sizes[key] && c == level {
				more := slices.Clone(counts)
				more[key]++
				if ok && v.cost(more) <= allowance {
					t.Fatalf("of %v, %v are counted, where %v would cost %d of %d", sizes, counts, more, v.cost(more),
						allowance)
				}
			}
		}
		if level != math.MaxUint64 && all <= allowance {
			t.Fatalf("%v of %v, where a level of %d would cost %d of %d", counts, sizes, level+1, all, allowance)
		}
		if larger := w.fill(sizes, allowance+1, &v); total(larger) < total(counts) && v.prices == nil {
			t.Fatalf("%v are counted, with a larger allowance %v", counts, larger)
		}
		// The same keys in another order.
		order := rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "order")
		order = slices.DeleteFunc(order, func(i int) bool { return i >= len(sizes) })
		var moved vessels
		var sizesMoved, want []uint64
		for _, i := range order {
			sizesMoved, want, moved.ranks = append(sizesMoved, sizes[i]), append(want, counts[i]),
				append(moved.ranks, v.ranks[i])
			if v.prices != nil {
				moved.prices = append(moved.prices, v.prices[i])
			}
		}
		if got := w.fill(sizesMoved, allowance, &moved); !slices.Equal(got, want) {
			t.Fatalf("in another order %v are counted, before %v", got, want)
		}
	})
}
