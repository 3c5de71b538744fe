package spend

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// decided returns a turn in which users, each in two budget periods, have reservations in
// two windows: of a metric that counts users and of one that counts events; and whose they are.
func decided(users, keys int, keeps func() bool) (a *shardAccounts, d *decision, owners []int) {
	a = &shardAccounts{rules: &Rules{metrics: []metric{
		{kind: metrickind.Of(metrickind.DistinctUsers)},
		{kind: metrickind.Of(metrickind.Events)},
	}}}
	c := &contributions{keys: make([][]byte, keys)}
	d = &decision{delta: &schemas.Delta{Windows: []schemas.MetricWindow{{Metric: 0}, {Metric: 1}}}, ended: &endedWindows{contributions: []*contributions{c, c}}}
	for u := range users {
		for period := range int64(2) {
			for window := range 2 {
				var some []kept
				for k := range keys {
					if keeps() {
						some = append(some, kept{uint32(k), 1})
					}
				}
				if len(some) > 0 {
					d.reservations.add(&member{ContribUser: schemas.ContribUser{ID: accounts.ID{1: byte(u)}, Period: period}}, window, 0, &clipper{kept: some})
					owners = append(owners, u)
				}
			}
		}
	}
	return a, d, owners
}

// A user of two budget periods is one user where users are counted, and two where
// events are.
func TestUsersAreCountedOnceForEveryKeyAndWindow(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 7, 1))
	for range 200 {
		a, d, owners := decided(1+rng.IntN(4), 1+rng.IntN(5), func() bool { return rng.IntN(2) == 0 })
		type at struct {
			user, window, key int
		}
		seen := map[at]bool{}
		users, events := map[[2]int]int64{}, map[int]int64{}
		for i := range d.reservations.list {
			r := &d.reservations.list[i]
			window := int(r.window)
			for _, k := range d.reservations.of(r) {
				cell := at{owners[i], window, int(k.key)}
				if !seen[cell] {
					users[[2]int{window, int(k.key)}]++
				}
				seen[cell] = true
				if window == 1 {
					events[int(k.key)]++
				}
			}
		}
		got := a.counts(d)
		for window := range 2 {
			for k, sum := range got.keys[window] {
				want := users[[2]int{window, k}]
				if window == 1 {
					want = events[k]
				}
				if releasable(sum) != want || got.there[window][k] != (want > 0) {
					t.Fatalf("window %d, key %d: %d, want %d", window, k, releasable(sum), want)
				}
			}
		}
	}
}

// BenchmarkCounts is by the number of one user's keys; the time per key must not
// depend on it.
func BenchmarkCounts(b *testing.B) {
	for _, keys := range []int{10, 1000, 20_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			accounts, d, _ := decided(1, keys, func() bool { return true })
			b.ReportAllocs()
			for b.Loop() {
				accounts.counts(d)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*keys*4), "ns/key")
		})
	}
}
