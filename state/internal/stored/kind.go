package stored

import (
	"fmt"
	"slices"
)

// Kind names the type that a state is of. It is one of the table below.
type Kind string

// kinds has every kind at its number, with which its states begin. Numbers are never used again.
var kinds = []Kind{
	1:  "filter.Basic",
	2:  "filter.Advanced",
	3:  "filter.Renyi",
	4:  "filter.RenyiOrders",
	5:  "filter.ZCDP",
	6:  "filter.ApproxZCDP",
	7:  "filter.GDP",
	8:  "filter.ExPost",
	9:  "filter.Mixed",
	10: "filter.Unified",
	11: "odometer.Basic",
	12: "odometer.Advanced",
	13: "odometer.Renyi",
	14: "odometer.Concentrated",
	15: "odometer.GDPTotal",
	16: "odometer.ZCDPTotal",
	17: "odometer.RenyiTotal",
	18: "odometer.Tracker",
	22: "individual.Filter",
	24: "individual.LinearQueries",
	25: "individual.Norm",
	26: "bucket.Filter",
}

// number returns the number of a kind, 0 for what is not in the table: no state begins with it.
func (k Kind) number() byte { return byte(max(0, slices.Index(kinds, k))) }

func named(number byte) Kind {
	if int(number) >= len(kinds) || kinds[number] == "" {
		return Kind(fmt.Sprintf("unknown kind %d", number))
	}
	return kinds[number]
}
