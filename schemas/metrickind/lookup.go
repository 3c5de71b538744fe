package metrickind

import "github.com/tollgate-dp/tollgate/internal/base/formats/spelling"

// Find returns the kind with a name. ok is false if there is no such kind.
func Find(name string) (k Kind, ok bool) {
	for i := range kinds {
		if kinds[i].Name == name {
			return kinds[i], true
		}
	}
	return Kind{}, false
}

// Of returns the kind with a name. For an unknown name, which a later version may have written, it
// returns a kind with that name, a sensitivity that no account can pay for, and no other property.
func Of(name string) Kind {
	if k, ok := Find(name); ok {
		return k
	}
	return Kind{Name: name, Range: unlimited, Texts: Texts{Label: name}}
}

// All returns every kind, including derived ones.
func All() []Kind { return where(func(*Kind) bool { return true }) }

// Offered returns the kinds that a configuration can name. The first of them is the default.
func Offered() []Kind { return where(func(k *Kind) bool { return !k.Derived() }) }

// Counting returns the kinds whose contributions depend only on a user's number of events per key.
func Counting() []Kind { return where(func(k *Kind) bool { return !k.Derived() && !k.Values() }) }

// Valued returns the kinds that need a value field, min and max.
func Valued() []Kind { return where(func(k *Kind) bool { return k.Values() }) }

// Computed returns the kinds whose released values are computed from counts, so that the target is
// an error of the computed value.
func Computed() []Kind { return where(func(k *Kind) bool { return !k.Derived() && !k.CountTarget() }) }

// Fine reports whether values of the kind have meaningful digits after the decimal point.
func (k Kind) Fine() bool { return k.Vector != nil || k.Statistic != nil }

// Keyed reports whether the keys of a metric of the kind are keys of events.
func (k Kind) Keyed() bool { return !k.Derived() || k.Statistic != nil }

// Sums reports whether a count of the kind is a total of values.
func (k Kind) Sums() bool { return k.Values() && k.CountTarget() }

// CountTarget reports whether the target of a metric of the kind is an error of its counts.
func (k Kind) CountTarget() bool { return k.Vector == nil && k.Tree == nil }

// Sharing returns the kind that releases how many events another metric counts and leaves out.
func Sharing() Kind { return where(func(k *Kind) bool { return k.Share })[0] }

// Admits reports whether metrics of the kind have their own windows and admissions.
func (k Kind) Admits() bool { return !k.Derived() || k.Share }

// Beside returns the name of the metric of derived kind k that is released alongside metric.
func (k Kind) Beside(metric string) string { return metric + "." + k.Name }

// One returns the word for one value of the kind, as in "a sum" or "a count".
func (k Kind) One() string {
	if k.Values() && k.Tree == nil {
		return k.Texts.Label
	}
	return "count"
}

// Names returns the names of kinds.
func Names(kinds []Kind) []string { return each(kinds, func(k *Kind) string { return k.Name }) }

// Meanings returns the names of the things that kinds count. The kinds must not be derived.
func Meanings(kinds []Kind) []string {
	return each(kinds, func(k *Kind) string { return k.Texts.Counted })
}

// Plural returns a phrase for metrics of the kinds, as in "sums and means".
func Plural(kinds []Kind) string {
	return spelling.List(each(kinds, func(k *Kind) string { return k.Texts.Label + "s" }), " and ")
}

func where(keep func(*Kind) bool) (out []Kind) {
	for i := range kinds {
		if keep(&kinds[i]) {
			out = append(out, kinds[i])
		}
	}
	return out
}

func each(kinds []Kind, text func(*Kind) string) (out []string) {
	for i := range kinds {
		out = append(out, text(&kinds[i]))
	}
	return out
}
