package year

import (
	"math"
	"math/rand/v2"

	"github.com/tollgate-dp/tollgate/internal/app/generate"
)

// Keys is the number of keys. Epsilon and Delta are the promise.
const (
	Keys           = 20
	Epsilon, Delta = 1, 1e-6
)

// Event is an event of a user on a day.
type Event struct {
	User, Day, Key int
}

// Population is a distribution of visits.
type Population struct {
	Name  string
	Users int
	law   float64                         // exponent of Zipf's law for the keys
	visit func(random *rand.Rand) float64 // draws the probability that a user visits on a day
}

// Populations returns three populations with about the same number of events per day.
func Populations() []Population {
	visitors := func(r *rand.Rand) float64 { return min(0.01*math.Exp(1.2*r.NormFloat64()), 1) }
	return []Population{
		// Like customers, taxi riders, patients or readers: half of them come on at most 4 days of
		// the year, one in a hundred on more than 58.
		{"visitors", 400_000, 1, visitors},
		// Like users of a tool: half of them come on at most 6 of 100 days, one in twenty on more
		// than 80. Most events are from users who come at least every other day.
		{"regulars", 40_000, 1, func(r *rand.Rand) float64 { return math.Pow(r.Float64(), 4) }},
		// Like visitors, but the largest key has 400 times as many events as the smallest, not 20
		// times.
		{"one large key", 400_000, 2, visitors},
	}
}

// Events generates the events for a number of users and days, ordered by user. Each user has a
// favourite key, drawn from a Zipf law. On three of ten visits, there is also an event with another
// key.
func (p Population) Events(random *rand.Rand, users, days int) []Event {
	keys := generate.NewZipf(Keys, p.law)
	var all []Event
	for user := range users {
		daily, favourite := p.visit(random), keys.Draw(random)
		for day := range days {
			if random.Float64() >= daily {
				continue
			}
			all = append(all, Event{user, day, favourite})
			if random.IntN(10) < 3 {
				if other := keys.Draw(random); other != favourite {
					all = append(all, Event{user, day, other})
				}
			}
		}
	}
	return all
}
