package individual_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/tollgate-dp/tollgate/state/filter"
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

// A hundred users whose budget comes as (ε, δ): converted for every user, as it was before
// filters had Fresh, and once.
func BenchmarkHundredUsersOfAnEpsilon(b *testing.B) {
	budget := loss.Approx{Epsilon: 1, Delta: 1e-6}
	const users = 100
	all := func(yield func(string, loss.GDP) bool) {
		for u := range users {
			if !yield(strconv.Itoa(u), loss.GDP{Mu: 0.001}) {
				return
			}
		}
	}
	b.Run("converted for each", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			filters := map[string]*filter.GDP{}
			for user, l := range all {
				filters[user] = must(filter.NewGDPFor(budget))
				must(0, filters[user].Spend(l))
			}
		}
	})
	b.Run("converted once", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(must(individual.NewGDPFor(individual.ForRound, budget)).Round(all))
		}
	})
}

// What a user takes at rest and how long storing and resuming takes.
func BenchmarkStore(b *testing.B) {
	const users = 10_000
	f := must(individual.New[int](individual.ForRound, gdp(1)))
	must(f.Round(func(yield func(int, loss.GDP) bool) {
		for u := range users {
			if !yield(u, loss.GDP{Mu: 0.001}) {
				return
			}
		}
	}))
	state := must(f.MarshalBinary())
	b.Run("marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(f.MarshalBinary())
		}
		b.ReportMetric(float64(len(state))/users, "bytes/user")
	})
	b.Run("unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(0, must(individual.New[int](individual.ForRound, gdp(1))).UnmarshalBinary(state))
		}
	})
}
