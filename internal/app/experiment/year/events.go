package year

import (
	"math"
	"math/rand/v2"

	"github.com/tollgate-dp/tollgate/internal/app/generate"
)

// Keys that events have, and the promise.
const (
	Keys           = 20
	Epsilon, Delta = 1, 1e-6
)

// Event is one event of a user on a day.
type Event struct {
	User, Day, Key int
}

// Population is the law of its users' visits.
type Population struct {
	Name  string
	Users int
	law   float64                         // the exponent of Zipf's law of their keys
	often func(random *rand.Rand) float64 // probability of a user's visit on a day
}

// Populations are three that have about the same events in a day.
func Populations() []Population {
	visitors := func(r *rand.Rand) float64 { return min(0.01*math.Exp(1.2*r.NormFloat64()), 1) }
	return []Population{
		// As customers, riders of taxis, patients, readers: half of them on 4 days of a year
		// or fewer, one in a hundred on more than 58.
		{"visitors", 400_000, 1, visitors},
		// As users of a tool: half of them on 6 days of 100 or fewer, one in twenty on over 80;
		// most events are of those who come every other day or more often.
		{"regulars", 40_000, 1, func(r *rand.Rand) float64 { return math.Pow(r.Float64(), 4) }},
		// The visitors, but keys differ more: the largest has 400 times as many events as the
		// least, not 20 times.
		{"one large key", 400_000, 2, visitors},
	}
}

// Events returns the made-up events of so many of the population's users in so many days, a user's
// in a row. Each user has a key of its own, of a Zipf law, and on three days of ten has an event of
// another key, too.
func (p Population) Events(random *rand.Rand, users, days int) []Event {
	keys := generate.NewZipf(Keys, p.law)
	var all []Event
	for user := range users {
		often, favourite := p.often(random), keys.Draw(random)
		for day := range days {
			if random.Float64() >= often {
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
