package individual_test

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/state/individual"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// One user's part of a round, after so many rounds of the same user: the time does
// not depend on what was charged before.
func BenchmarkRoundOfOneUser(b *testing.B) {
	for _, before := range []int{10, 1e3, 1e6} {
		b.Run(fmt.Sprintf("after=%d", before), func(b *testing.B) {
			f := must(individual.New[int](individual.ForRound, gdp(1e6)))
			one := func(yield func(int, loss.GDP) bool) { yield(1, loss.GDP{Mu: 0.001}) }
			for range before {
				must(f.Round(one))
			}
			b.ReportAllocs()
			for b.Loop() {
				must(f.Round(one))
			}
		})
	}
}

// A round of many users; ns/op divided by users is the cost of one.
func BenchmarkRoundOfManyUsers(b *testing.B) {
	for _, users := range []int{1e3, 1e6} {
		b.Run(fmt.Sprintf("users=%d", users), func(b *testing.B) {
			f := must(individual.New[int](individual.ForRound, gdp(1e6)))
			all := func(yield func(int, loss.GDP) bool) {
				for u := range users {
					if !yield(u, loss.GDP{Mu: 0.001}) {
						return
					}
				}
			}
			must(f.Round(all))
			b.ReportAllocs()
			for b.Loop() {
				must(f.Round(all))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(users), "ns/user")
		})
	}
}

func BenchmarkLinearQuery(b *testing.B) {
	for _, before := range []int{10, 1e3, 1e6} {
		b.Run(fmt.Sprintf("after=%d", before), func(b *testing.B) {
			q := must(individual.NewLinearQueries[int](1<<62, 0.5, individual.ForRound, noNoise))
			vector := []int64{1, -2, 3}
			one := func(yield func(int, []int64) bool) { yield(1, vector) }
			for range before {
				must(q.Answer(3, one))
			}
			b.ReportAllocs()
			for b.Loop() {
				must(q.Answer(3, one))
			}
		})
	}
}
