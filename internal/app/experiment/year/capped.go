package year

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Sigma returns the standard deviation of the Gaussian noise of counts if a user adds at most 1 to
// each of a number of keys on each of a number of days.
func Sigma(keys, days int) float64 {
	budget, _ := experiment.Must(budgets.LargestSquare(Epsilon, Delta, budgets.GDP)).Float64()
	return math.Sqrt(float64(keys*days) / budget)
}

// capped computes the errors if users count only on their first days, with at most 1 for each of a
// number of keys, and with Gaussian noise that divides the promise among those days. It returns the
// mean error of each day in % of its events, and the percentage of events beyond the caps.
//
// If the budget pays for all days, no user is left out: the promise is divided in advance, as it
// must be for a daily job. If a user has too many keys, all of them are equally likely to count.
func (y *year) capped(events []Event, days, keys int) (errors []float64, beyond float64) {
	sigma := Sigma(keys, days)
	perDay, lost := make([]float64, y.days), make([]float64, y.days*Keys)
	for i := 0; i < len(events); {
		user, visits := events[i].User, 0
		for i < len(events) && events[i].User == user {
			end, day := i+1, events[i].Day
			for end < len(events) && events[end].User == user && events[end].Day == day {
				end++
			}
			visits++
			share := 1 - min(1, float64(keys)/float64(end-i)) // part of each event that does not count
			if visits > days {
				share = 1
			}
			for ; i < end; i++ {
				perDay[day]++
				lost[day*Keys+events[i].Key] += share
				beyond += 100 * share / float64(len(events))
			}
		}
	}
	for day, n := range perDay {
		wrong := 0.0
		for _, l := range lost[day*Keys : (day+1)*Keys] {
			wrong += folded(l, sigma)
		}
		errors = append(errors, 100*wrong/n)
	}
	return errors, beyond
}

// folded returns the mean of |x| for a normal x.
func folded(mean, sigma float64) float64 {
	return sigma*math.Sqrt(2/math.Pi)*math.Exp(-mean*mean/(2*sigma*sigma)) + mean*math.Erf(mean/(sigma*math.Sqrt2))
}
