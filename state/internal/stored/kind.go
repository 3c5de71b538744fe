package stored

import "fmt"

// Kind is the first byte of a state: the type that it is of. Numbers are never used again.
type Kind byte

// The kinds, by package.
const (
	FilterBasic Kind = iota + 1
	FilterAdvanced
	FilterRenyi
	FilterRenyiOrders
	FilterZCDP
	FilterApproxZCDP
	FilterGDP
	FilterExPost
	FilterMixed
	FilterUnified
	OdometerBasic
	OdometerAdvanced
	OdometerRenyi
	OdometerConcentrated
	OdometerGDPTotal
	OdometerZCDPTotal
	OdometerRenyiTotal
	OdometerTracker
	OdometerRenyiTracker
	OdometerZCDPTracker
	OdometerGDPTracker
	IndividualFilter
	IndividualOdometers
	IndividualLinearQueries
	IndividualNorm
	BucketFilter
)

var names = [...]string{
	FilterBasic:             "filter.Basic",
	FilterAdvanced:          "filter.Advanced",
	FilterRenyi:             "filter.Renyi",
	FilterRenyiOrders:       "filter.RenyiOrders",
	FilterZCDP:              "filter.ZCDP",
	FilterApproxZCDP:        "filter.ApproxZCDP",
	FilterGDP:               "filter.GDP",
	FilterExPost:            "filter.ExPost",
	FilterMixed:             "filter.Mixed",
	FilterUnified:           "filter.Unified",
	OdometerBasic:           "odometer.Basic",
	OdometerAdvanced:        "odometer.Advanced",
	OdometerRenyi:           "odometer.Renyi",
	OdometerConcentrated:    "odometer.Concentrated",
	OdometerGDPTotal:        "odometer.GDPTotal",
	OdometerZCDPTotal:       "odometer.ZCDPTotal",
	OdometerRenyiTotal:      "odometer.RenyiTotal",
	OdometerTracker:         "odometer.Tracker",
	OdometerRenyiTracker:    "odometer.RenyiTracker",
	OdometerZCDPTracker:     "odometer.ZCDPTracker",
	OdometerGDPTracker:      "odometer.GDPTracker",
	IndividualFilter:        "individual.Filter",
	IndividualOdometers:     "individual.Odometers",
	IndividualLinearQueries: "individual.LinearQueries",
	IndividualNorm:          "individual.Norm",
	BucketFilter:            "bucket.Filter",
}

func (k Kind) String() string {
	if k == 0 || int(k) >= len(names) {
		return fmt.Sprintf("unknown kind %d", byte(k))
	}
	return names[k]
}
