package metrickind

// DistinctUsers is the kind that counts the users who have events with a key.
const DistinctUsers = "distinct_users"

func distinctUsers() Kind {
	return Kind{
		Name:         DistinctUsers,
		Range:        func(Bounds) (least, greatest int64) { return 0, 1 },
		Contribution: func(events uint64, _ Bounds) (counted uint64, total int64) { return events, 1 },
		OncePerUser:  true,
		Texts:        Texts{Counted: "users", Label: "distinct users", Value: "number of different users"},
	}
}
