package deployment

import (
	"fmt"
	"math"
	"strconv"
)

const (
	// doubtfulEpsilon is the ε above which a promise protects hardly anyone: at 10, a result may be
	// e^10, about 22,000, times as likely with a user as without.
	doubtfulEpsilon = 10
	// doubtfulDelta is the least δ at which exceptions are no longer rare: at 1/1000, one result in
	// a thousand may reveal everything about a user.
	doubtfulDelta = 1e-3
	almost        = 10  // greatest factor e^ε for which results are "almost as likely"
	Countless     = 1e6 // least factor for which Factor returns no number
)

// Meaning describes (epsilon, delta)-differential privacy for one user, in words that continue
// "released counts". They "would be almost as likely without any one user", or "can be" a number of
// times as likely with the user.
func Meaning(epsilon, delta float64) string {
	exception := ""
	if delta >= doubtfulDelta {
		exception = fmt.Sprintf(", but for a probability of %.3g,", delta)
	}
	if math.Exp(epsilon) <= almost {
		return "would" + exception + " be almost as likely without any one user"
	}
	return "can" + exception + " be " + Factor(epsilon) + " times as likely with as without any one user"
}

// UnnamedUnit describes the unit of the promise for events without a user, if Format.NoUser is
// event.NoUserEach.
const UnnamedUnit = "an event without a user counts as a separate user, so a person with several of them is " +
	"protected only for each event separately"

// Factor formats e^epsilon, rounded up. This is how many times as likely a result can be with a
// user as without. From a million upward, Factor returns "more than a million".
func Factor(epsilon float64) string {
	f, decimals := math.Exp(epsilon), 2
	switch {
	case f >= Countless:
		return "more than a million"
	case f >= 100:
		decimals = 0
	case f >= 10:
		decimals = 1
	}
	unit := math.Pow10(decimals)
	return strconv.FormatFloat(math.Ceil(f*unit)/unit, 'f', decimals, 64)
}

// weakPromise returns warnings about a promise that protects users poorly.
func weakPromise(p *Privacy) (all []*ConfigError) {
	if p.Epsilon > doubtfulEpsilon {
		all = append(all, Invalid("Privacy.Epsilon", "a result can be %s times as likely with a user as without, "+
			"which protects hardly anyone: 0.1 to 3 are usual", Factor(p.Epsilon)))
	}
	if p.Delta >= doubtfulDelta {
		all = append(all, Invalid("Privacy.Delta", "with a probability of up to %.3g everything about a user may be "+
			"revealed: choose it well below 1 divided by the number of users, for example 1e-6", p.Delta))
	}
	return all
}
