package metrickind

// Known holds a count's noisy numbers. Statistics are computed from them.
type Known struct {
	Tree   *Search  // the count's tree of values; nil if it has none
	Events Estimate // first component, as released
	// Components returns the first component and the given number of further components. With their
	// HalfWidth, the intervals of that many ratios hold jointly at the metric's confidence.
	Components func(extra, ratios int) Components
}

const alsoPrefix = "also_" // prefix of the names of the kinds that also returns

// also returns the kind of a statistic whose value is that of kind base. It is computed from the
// components of the base metric, at no additional cost (docs/guarantee.md, "Several components").
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

// SumComponents returns, in order, the kinds of further components that are sums of values. A count
// has the first n of these components, where n may be 0.
func SumComponents() []Kind { return []Kind{meanOffset(), meanSquare()} }

// ExtraSums returns the kinds of a count's further components that are sums: as many as kind k, or
// a kind released alongside it, needs. If a count with a tree has such sums, its number of events
// is drawn a second time, with the precision of the sums, because the first component is too coarse
// to divide the sums by.
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

// SumsFiner returns the precision of the sums among a count's further components as a multiple of
// the first component's precision. Each sum is measured in units of the most that one event adds to
// it. levels is the number of levels in the count's tree, or 0 without a tree. Alongside a tree,
// two sums cost a user half as much as all levels, so neither takes nearly all of the budget.
func SumsFiner(levels int) int64 {
	if levels == 0 {
		return 1
	}
	return int64(levels) * NodesFiner / 4
}

// meanEvents is the kind of the number of events by which sums alongside a tree are divided.
func meanEvents() Kind {
	k := events()
	return Kind{
		Name: "mean_events", Range: k.Range, Value: countEvent,
		Part:  &Part{Again: true},
		Texts: Texts{Label: "number of events", Value: "number of events by which the sums of {of} are divided"},
	}
}

// Also returns the names of the statistics that metrics of kind k can also release.
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

// AlsoKind returns the kind of the statistic whose value is that of the kind with a name.
func AlsoKind(name string) Kind { return Of(alsoPrefix + name) }

// AllAlso returns the names of all kinds whose values can be released alongside others.
func AllAlso() []string {
	return each(where(func(k *Kind) bool { return k.ValueOf() != "" }), func(k *Kind) string { return k.ValueOf() })
}
