package fixed_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/internal/fixed"
)

// TestAMeterNeverGoesPastItsLimit runs a meter beside exact sums of its admitted amounts.
func TestAMeterNeverGoesPastItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := amounts.Draw(t, "limit")
		m := fixed.NewMeter(limit)
		if limit == fixed.Max {
			limit = limit.Sub(fixed.Up(0x1p-208))
		}
		total := new(big.Int) // taken and reserved
		var reserved []fixed.Amount
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if got := new(big.Int).Add(total, m.Left().Big()); got.Cmp(limit.Big()) != 0 {
					t.Fatalf("taken, reserved and left are %v, the limit is %v", got, limit.Big())
				}
			},
			"take": func(t *rapid.T) {
				a := share(t, m.Left())
				fits := m.Admit(fixed.Ask, a)
				if fits != (a.Cmp(m.Left()) <= 0) || m.Admit(fixed.Spend, a) != fits {
					t.Fatalf("%v of %v", a.Big(), m.Left().Big())
				}
				if fits {
					total.Add(total, a.Big())
				}
			},
			"reserve": func(t *rapid.T) {
				a := share(t, m.Left())
				fits := m.Admit(fixed.Ask, a)
				if m.Admit(fixed.Reserve, a) != fits {
					t.Fatalf("%v of %v", a.Big(), m.Left().Big())
				}
				if fits {
					total.Add(total, a.Big())
					reserved = append(reserved, a)
				}
			},
			"settle": func(t *rapid.T) {
				if len(reserved) == 0 {
					t.Skip("nothing is reserved")
				}
				worst := reserved[len(reserved)-1]
				actual := share(t, worst)
				if ok := m.Settle(worst, actual); ok != (actual.Cmp(worst) <= 0) {
					t.Fatalf("settled %v of %v: %v", actual.Big(), worst.Big(), ok)
				} else if ok {
					reserved = reserved[:len(reserved)-1]
					total.Sub(total, worst.Big()).Add(total, actual.Big())
				}
			},
			"settle too much": func(t *rapid.T) {
				sum := fixed.Up(0x1p-208)
				for _, h := range reserved {
					sum = sum.Plus(h)
				}
				if m.Settle(sum, fixed.Amount{}) {
					t.Fatal("more was given back than is reserved")
				}
			},
		})
	})
}

// share draws an amount that is below, at or just above of, or Max.
func share(t *rapid.T, total fixed.Amount) fixed.Amount {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return total
	case 1:
		return total.Plus(fixed.Up(0x1p-208))
	case 2:
		return fixed.Max
	}
	return fixed.Down(total.FloatDown() * rapid.Float64Range(0, 1).Draw(t, "part"))
}

func TestMaxIsRefusedWhateverTheLimit(t *testing.T) {
	for _, limit := range []fixed.Amount{{}, fixed.Up(1), fixed.Down(math.Inf(1)), fixed.Max} {
		m := fixed.NewMeter(limit)
		if m.Admit(fixed.Ask, fixed.Max) || m.Admit(fixed.Spend, fixed.Max) || m.Admit(fixed.Reserve, fixed.Max) {
			t.Errorf("a meter of %v units took Max", limit.Big())
		}
	}
}

// A Meter is resumed exactly, and never from amounts that exceed its limit.
func TestAMeterGoesOnFromItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, taken, reserved := amounts.Draw(t, "limit"), amounts.Draw(t, "taken"), amounts.Draw(t, "reserved")
		if rapid.Bool().Draw(t, "fitting") {
			taken = share(t, limit)
			reserved = share(t, limit.Sub(taken))
		}
		m, ok := fixed.ResumeMeter(limit, taken, reserved)
		sum := new(big.Int).Add(taken.Big(), reserved.Big())
		if want := limit != fixed.Max && sum.Cmp(limit.Big()) <= 0; ok != want {
			t.Fatalf("%v and %v of %v: %v", taken.Big(), reserved.Big(), limit.Big(), ok)
		}
		if !ok {
			return
		}
		if m.Limit() != limit || m.Taken() != taken || m.Reserved() != reserved ||
			sum.Add(sum, m.Left().Big()).Cmp(limit.Big()) != 0 {
			t.Fatalf("%v and %v of %v came back as %v, %v and %v", taken.Big(), reserved.Big(), limit.Big(),
				m.Taken().Big(), m.Reserved().Big(), m.Limit().Big())
		}
		other := fixed.NewMeter(limit)
		if !other.Admit(fixed.Spend, taken) || !other.Admit(fixed.Reserve, reserved) || other != m {
			t.Fatal("it is not the meter that took and reserved so much")
		}
	})
}
