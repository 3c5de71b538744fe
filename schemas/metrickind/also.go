package metrickind

// Known holds the noisy numbers of a count, from which its statistics are computed.
type Known struct {
	Tree   *Search  // tree of values; nil if the count has none
	Events Estimate // first component, as released
	// Components returns the first component and the given number of further ones. With their
	// Width, the intervals of the given number of ratios hold jointly at the stated confidence.
	Components func(extra, ratios int) Components
}

const alsoPrefix = "also_" // prefix for the names of kinds with the value of another kind

// also returns the kind of a statistic that has the value of another kind, computed from the
// components of its base metric. It costs nothing more (docs/guarantee.md, "Several components").
func also(base Kind) Kind {
	return Kind{
		Name:  alsoPrefix + base.Name,
		Range: func(Bounds) (least, greatest int64) { return 0, 1 },
		Statistic: &Statistic{ValueOf: base.Name, Compute: func(known Known, b Bounds, _ float64) (Estimate, bool,
			error) {
			if base.Vector == nil {
				return known.Events, false, nil
			}
			return base.Vector.Join(b, known.Components(len(base.Vector.Extra), base.Vector.Ratios)), false, nil
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

// SumComponents returns the kinds of further components that are sums of values, in order: a count
// has the first few of them, or none.
func SumComponents() []Kind { return []Kind{meanOffset(), meanSquare()} }

// ExtraSums returns the kinds of a count's further components that are sums: as many as its kind,
// or a kind released alongside it, needs. If there are any, a count with a tree also draws its
// number of events again, with the precision of the sums, because values computed from the first
// component would be coarse.
func (k Kind) ExtraSums(also []string) []Kind {
	n := len(k.Extra())
	for _, name := range also {
		n = max(n, len(Of(name).Extra()))
	}
	sums := SumComponents()[:n]
	if k.Tree != nil && n > 0 {
		sums = append(sums, meanEvents())
	}
	return sums
}

// SumsFiner returns the precision of the sums among a count's further components, each divided by
// the most that one event adds, as a multiple of the first component's precision. levels is the
// number of levels in the count's tree, or 0. Alongside a tree, two sums cost a user half as much
// as all levels, so that neither takes nearly all of the budget.
func SumsFiner(levels int) int64 {
	if levels == 0 {
		return 1
	}
	return int64(levels) * NodesFiner / 4
}

// meanEvents is the kind of the number of events that divides the sums alongside a tree.
func meanEvents() Kind {
	k := events()
	return Kind{
		Name: "mean_events", Range: k.Range, Value: one,
		Part:  &Part{Again: true},
		Texts: Texts{Label: "number of events", Value: "number of events by which the sums of {of} are divided"},
	}
}

// Also returns the names of the statistics that metrics of the kind can release alongside values.
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
func AlsoKind(name string) Kind { return Of(alsoPrefix + name) }

// AllAlso returns the names of all kinds whose values can be released alongside others.
func AllAlso() []string {
	return each(where(func(k *Kind) bool { return k.ValueOf() != "" }), func(k *Kind) string { return k.ValueOf() })
}
