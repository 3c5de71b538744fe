package year

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Sigma is the standard deviation of the Gaussian noise of counts to which a user adds at most 1 in
// each of so many keys on each of so many days.
func Sigma(keys, days int) float64 {
	budget, _ := experiment.Must(budgets.LargestSquare(Epsilon, Delta, budgets.GDP)).Float64()
	return math.Sqrt(float64(keys*days) / budget)
}

// capped are the errors of counts to which every user adds on the first so many days on which they
// come, at most 1 in each of so many keys, with the Gaussian noise of a promise that is divided
// among as many days. It returns the mean size of a day's errors in % of its events, and the % of
// all events that are beyond the caps.
//
// Where all days of the year are paid, no user is left out: that is the promise divided beforehand,
// as a job a day needs it. Of the keys of a user who has more than count, each is as likely.
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
			share := 1 - min(1, float64(keys)/float64(end-i)) // that is not counted
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

// folded is the mean of |x| where x is normal with this mean and deviation.
func folded(mean, sigma float64) float64 {
	return sigma*math.Sqrt(2/math.Pi)*math.Exp(-mean*mean/(2*sigma*sigma)) + mean*math.Erf(mean/(sigma*math.Sqrt2))
}
