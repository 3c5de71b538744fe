package year

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Sigma returns the standard deviation of the Gaussian noise that counts need if, on each of days
// days, a user adds at most 1 to each of keys keys.
func Sigma(keys, days int) float64 {
	budget, _ := experiment.Must(budgets.LargestSquare(Epsilon, Delta, budgets.GDP)).Float64()
	return math.Sqrt(float64(keys*days) / budget)
}

// capped computes the errors of counts with caps: a user counts only on the first days days, with
// at most 1 for each of keys keys. Gaussian noise divides the promise among those days. capped
// returns the mean error of each day in % of the day's events, and the percentage of events beyond
// the caps.
//
// If days is the number of all days, no user is left out: the promise is divided in advance, as it
// must be for a daily job. If a user has more than keys keys, all of them are equally likely to
// count.
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
			share := 1 - min(1, float64(keys)/float64(end-i)) // probability that an event does not count
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

// folded returns the mean of |x| for a normal x with the given mean and standard deviation.
func folded(mean, sigma float64) float64 {
	return sigma*math.Sqrt(2/math.Pi)*math.Exp(-mean*mean/(2*sigma*sigma)) + mean*math.Erf(mean/(sigma*math.Sqrt2))
}
