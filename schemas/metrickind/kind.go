package metrickind

import "math"

// Kind has all differences between metrics of one kind and another. A count is a metric's value for
// one window and key.
type Kind struct {
	// Name appears in configurations, definitions and releases.
	Name string

	// Range is what one user can add to one count: from least ≤ 0 to greatest ≥ 0, in units of the
	// count. The bounds must fit together, see Bounds.
	Range func(b Bounds) (least, greatest int64)
	// Contribution returns what a user with so many events (at least 1) of a key in a window adds
	// to the count, and how many of these events are counted; the others are clipped. It is nil for
	// kinds with Values and for derived kinds.
	Contribution func(events uint64, b Bounds) (counted uint64, total int64)
	// Value returns what an event that is kept adds to the count, by its clamped value. It is set
	// for kinds with Values, and for a Part that is a sum.
	Value func(value int64, b Bounds) int64
	// OncePerUser is set if a user whose events of a window lie in several budget periods is
	// counted once, though charged once for each period.
	OncePerUser bool
	// NotPrivate is why keys cannot be private; "" if they can. The threshold of private keys has
	// to hide Sensitivity.
	NotPrivate string
	// Share is set for a metric that counts the events of the metric from which it is derived, both
	// counted and left out there, even of users whom that metric does not admit. It has windows and
	// admissions of its own. Its keys are EventsCounted and EventsLeftOut.
	Share bool
	// Part and Statistic are set for the other kinds of derived metrics. Such a metric has the keys
	// and the admissions of the metric that it is derived from, and takes no events.
	Part      *Part
	Statistic *Statistic
	// Vector is set for kinds whose counts have several components that become one value.
	Vector *Vector
	// Tree is set for kinds that also count the values of each count in a tree.
	Tree *Tree

	Texts Texts
}

// Part is a further component of the counts of a metric. It is drawn once the first component has
// stopped, and published as a part of that metric only.
type Part struct {
	// Again is set for a component that counts the same as the first one, with a precision of its
	// own. It replaces the first one in values that are computed from several components.
	Again bool
	// Nodes is set for a component that has a cell for each node of a tree of values: it returns
	// the scale of the tree. edges are a histogram's.
	Nodes func(b Bounds, edges []int64) (*Scale, error)
}

// Statistic is computed from the draws of another metric, and released beside it: it has no draws
// of its own.
type Statistic struct {
	// Compute returns the value, and whether its error is at most absolute with the stated
	// probability. b are the bounds of the derived metric.
	Compute func(known Known, b Bounds, absolute float64) (e Estimate, met bool, err error)
	// ValueOf is the name of the kind whose value it has, such as mean; "" if it has none's.
	ValueOf string
	// Ranked is set for a quantile: Bounds.Max is its rank, in millionths.
	Ranked bool
}

// Texts are what people read of a kind.
type Texts struct {
	// Counted names the counted things, in the reference of the configuration; "" for derived
	// kinds.
	Counted string
	// Label is the kind in a heading; for kinds with Values also the name of one count, as in "a
	// sum needs min and max".
	Label string
	// Short is a shorter name of a Statistic, for narrow places; "" if the name is short.
	Short string
	// Value describes a count. {value} is the value field, {min} and {max} for the bounds of
	// values, {of} for the metric that a derived one is derived from.
	Value string
	// Wanted describes the target of a Statistic: {absolute} is the target, {least rank} and
	// {greatest rank} for the ranks that it allows.
	Wanted string
	// Together is the heading of a chart of all statistics of this kind of one metric, {of}.
	Together string
	// Target is the target of a Statistic in a table: {absolute} is its value, {percent} 100 times
	// that.
	Target string
	// Size is the unit of the number that noise and target are compared with, as in "from 1,000
	// events on"; "" if that is the count itself.
	Size string
	// Verb is what a metric does to its values, as in "metric m sums values"; "" for kinds without
	// Values.
	Verb string
}

// Bounds are a metric's limits on what one user adds to one count: Events ≥ 1 events of a key in a
// window, and for kinds with Values Min ≤ Max for each value. Events times the greatest absolute
// value must fit an int64.
type Bounds struct{ Events, Min, Max int64 }

// Sensitivity returns by how much one user changes one count at most, in units of the count. With
// sensitivity c, a release costs the user c² times its precision (units.Charge), and the threshold
// of a private key has to hide c.
func (k Kind) Sensitivity(b Bounds) int64 {
	least, greatest := k.Range(b)
	return max(-least, greatest)
}

// Derived reports whether no configuration names the kind: such a metric follows the metric from
// which it is derived.
func (k Kind) Derived() bool { return k.Share || k.Part != nil || k.Statistic != nil }

// Values reports whether a metric looks at the values of events: of a user's events of a key the
// Bounds.Events with the least ranks are kept, each value is clamped to Bounds.Min and Bounds.Max,
// and the clamped values are added up. Such a metric needs a value field, min and max, and
// contributions have the values of its events one by one.
func (k Kind) Values() bool { return k.Value != nil && k.Part == nil }

// EventBound reports whether Bounds.Events limits a contribution.
func (k Kind) EventBound() bool { return (k.Contribution != nil || k.Values()) && !k.OncePerUser }

// ValueOf returns the name of the kind whose value a Statistic has; "" for other kinds.
func (k Kind) ValueOf() string {
	if k.Statistic == nil {
		return ""
	}
	return k.Statistic.ValueOf
}

// HasNodes reports whether the kind is a Part that has a cell for each node of a tree.
func (k Kind) HasNodes() bool { return k.Part != nil && k.Part.Nodes != nil }

// HasUnit reports whether released values, or the edges between which they are shares, follow from
// the unit of the events' values.
func (k Kind) HasUnit() bool {
	if base := k.ValueOf(); base != "" {
		k = Of(base)
	}
	return k.Values() && k.Tree == nil || k.Statistic != nil
}

// Together is the text that people read in place of the empty key.
const Together = "all together"

// unlimited is the Range of a kind that is not in the table: no account pays for it.
func unlimited(Bounds) (least, greatest int64) { return -math.MaxInt64, math.MaxInt64 }
