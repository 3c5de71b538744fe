package metrickind

// Sum is the kind that releases the sum of the values of the events with a key.
const Sum = "sum"

func sum() Kind {
	return Kind{
		Name: Sum,
		Range: func(b Bounds) (least, greatest int64) {
			return b.Events * min(b.Min, 0), b.Events * max(b.Max, 0)
		},
		Value:      func(value int64, _ Bounds) int64 { return value },
		NotPrivate: "the size of a sum says nothing about how many users have a key",
		Texts: Texts{
			Counted: "the value field's total", Label: "sum", Verb: "sums",
			Value: "sum of {value}, each value clamped to {min} to {max}",
		},
	}
}
