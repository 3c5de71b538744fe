package metrickind

// Coverage is how many users were admitted to a window of another metric.
const Coverage = "coverage"

func coverage() Kind {
	return Kind{
		Name:        Coverage,
		Range:       func(Bounds) (least, greatest int64) { return 0, 1 },
		OncePerUser: true,
		NotPrivate:  "users are counted all together",
		Derived:     true,
		Texts: Texts{
			Label: "coverage", NoKey: "admitted users",
			Value: "number of users who were admitted to {of}: the others have spent their budget and are missing there",
		},
	}
}
