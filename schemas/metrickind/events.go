package metrickind

// Events is the kind that counts the events with a key.
const Events = "events"

func events() Kind {
	return Kind{
		Name:  Events,
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Contribution: func(events uint64, b Bounds) (counted uint64, total int64) {
			counted = min(events, uint64(b.Events))
			return counted, int64(counted)
		},
		Texts: Texts{Counted: "events", Label: "events", Value: "number of events"},
	}
}
