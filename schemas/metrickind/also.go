package metrickind

// Known has the noisy numbers drawn for a count, from which its statistics are computed.
type Known struct {
	// Tree is the tree of values; nil if the count has none.
	Tree *Search
	// Events is the first component, as its ladder has released it.
	Events Estimate
	// Components returns the first component and the given number of further ones, with the width
	// at which the intervals of the given number of ratios all hold with the stated confidence.
	Components func(further, ratios int) Components
}

// besideOthers begins the names of kinds that have the value of another kind.
const besideOthers = "also_"

// also is the kind of a statistic that has the value of another kind, of, and is computed from the
// components of the metric that it is derived from. It costs nothing that these components do not
// cost (docs/guarantee.md, "Several components").
func also(base Kind) Kind {
	return Kind{
		Name:  besideOthers + base.Name,
		Range: func(Bounds) (least, greatest int64) { return 0, 1 },
		Statistic: &Statistic{ValueOf: base.Name, Compute: func(known Known, b Bounds, _ float64) (Estimate, bool,
			error) {
			if base.Vector == nil {
				return known.Events, false, nil
			}
			return base.Vector.Join(b, known.Components(len(base.Vector.Further), base.Vector.Ratios)), false, nil
		}},
		Texts: Texts{Label: base.Texts.Label, Size: "events", Value: base.Texts.Value},
	}
}

func alsoEvents() Kind {
	k := also(events())
	k.Texts.Label = "number of events"
	return k
}

func alsoDeviation() Kind {
	k := also(standardDeviation())
	k.Texts.Short = "std_dev"
	return k
}

// SumComponents returns the kinds of all further components that are sums over values, in their
// order: a count has the first few of them, or none.
func SumComponents() []Kind { return []Kind{meanOffset(), meanSquare()} }

// FurtherSums returns the kinds of those further components of a count that are sums: as many as
// its kind, or one of the kinds whose values are released beside it, needs. If there are any, a
// count with a tree has its number of events once more, with the precision of the sums. Otherwise
// the values that are computed from them would be as coarse as the first component.
func (k Kind) FurtherSums(also []string) []Kind {
	n := len(k.Further())
	for _, name := range also {
		n = max(n, len(Of(name).Further()))
	}
	sums := SumComponents()[:n]
	if k.Tree != nil && n > 0 {
		sums = append(sums, meanEvents())
	}
	return sums
}

// SumsFiner returns the precision of those further components of a count that are sums, as a
// multiple of the precision of its first component, if each sum is divided by the most that one
// event adds to it. levels is the number of levels of the count's tree; 0 if it has none. Beside a
// tree, two sums cost a user half as much as all levels of the tree, so that neither takes nearly
// all of the budget.
func SumsFiner(levels int) int64 {
	if levels == 0 {
		return 1
	}
	return int64(levels) * NodesFiner / 4
}

// meanEvents is the kind of the number of events by which sums are divided beside a tree.
func meanEvents() Kind {
	k := events()
	return Kind{
		Name: "mean_events", Range: k.Range, Value: one,
		Part:  &Part{Again: true},
		Texts: Texts{Label: "number of events", Value: "number of events by which the sums of {of} are divided"},
	}
}

// Also returns the names of the kinds of statistics that a metric of the kind can release beside
// its own values.
func (k Kind) Also() (names []string) {
	if k.Derived() || k.CountTarget() {
		return nil
	}
	for _, name := range AllAlso() {
		if name != k.Name && (k.Tree == nil || Of(name).Vector != nil) {
			names = append(names, name)
		}
	}
	return names
}

// AlsoKind returns the kind of the statistic that has the value of another kind.
func AlsoKind(name string) Kind { return Of(besideOthers + name) }

// AllAlso returns the names of all kinds whose values can be released beside others.
func AllAlso() (names []string) {
	for _, k := range where(func(k *Kind) bool { return k.ValueOf() != "" }) {
		names = append(names, k.ValueOf())
	}
	return names
}
