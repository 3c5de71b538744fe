package deployment

import (
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Reach says how far an allowance goes for a user with events of one key. For a sum, it says how
// much of the user's sum of values counts.
type Reach struct {
	// Most is how many events of a key count in one window, if the bucket is full.
	Most uint64 `json:"at_once"`
	// Always is how many count in every window of the horizon. 0: not even one, and Share below 1
	// is the part of the windows in which one event counts.
	Always uint64  `json:"always"`
	Share  float64 `json:"share_of_one"`
	OfSum  bool    `json:"of_a_sum,omitempty"`
}

// String says it in a few words.
func (r Reach) String() string {
	of := "events of a user and key that count"
	if r.OfSum {
		of = "what counts of the sum of a user and key"
	}
	if r.Always == 0 {
		return fmt.Sprintf("%s: 1 in a window of %.0f, %d at once", of, math.Ceil(1/max(r.Share, 1e-9)), r.Most)
	}
	return fmt.Sprintf("%s: %d in every window, %d at once", of, r.Always, r.Most)
}

// Reaches returns the Reach of each of Deployment.Metrics, the zero Reach for derived ones.
func Reaches(d *Deployment) []Reach {
	out := make([]Reach, len(d.Metrics))
	for i := range d.Metrics {
		if !metrickind.Of(d.Metrics[i].Spec.Kind).Derived {
			sums, scale := componentsOf(d.Specs(), &d.Metrics[i].Spec)
			out[i] = reachOf(&d.Metrics[i].Spec, sums, scale)
		}
	}
	return out
}

// reachOf takes the further components as worstOfKey does.
func reachOf(m *schemas.MetricSpec, sums []metrickind.Kind, scale *metrickind.Scale) Reach {
	cost := func(events uint64) *big.Int {
		b := m.Bounds()
		if b.Events = int64(events); metrickind.Of(m.Kind).Sums() {
			b.Min, b.Max = 0, 1
		}
		return worstOfKey(metrickind.Of(m.Kind), b, sums, scale, m.Top)
	}
	of := func(amount *big.Int) uint64 {
		low, high := uint64(0), min(m.Most(), 1<<30)+1
		for low+1 < high {
			if middle := (low + high) / 2; cost(middle).Cmp(amount) <= 0 {
				low = middle
			} else {
				high = middle
			}
		}
		return low
	}
	windows := max(1, int64(math.Ceil(float64(m.Horizon)/float64(m.WindowSlide))))
	all := new(big.Int).Add(accountUnits(m.Burst), accountUnits(m.Refill))
	each := all.Quo(all, big.NewInt(windows))
	r := Reach{Most: of(accountUnits(m.Burst)), Always: of(each), Share: 1, OfSum: metrickind.Of(m.Kind).Sums()}
	if r.Always == 0 {
		one, _ := cost(1).Float64()
		have, _ := new(big.Float).SetInt(each).Float64()
		r.Share = min(1, have/one)
	}
	return r
}
