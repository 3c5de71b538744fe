package metrickind

import "math"

// Kind holds everything that distinguishes one kind of metric from another. In this package, a
// count is a metric's value for one window and key.
type Kind struct {
	Name string // used in configurations, definitions and releases
	// Range returns the range of one user's contribution to one count, in units of the count: from
	// least ≤ 0 to greatest ≥ 0.
	Range func(b Bounds) (least, greatest int64)
	// Contribution returns how many of a user's events for a key in a window are counted, and the
	// user's contribution to the count. The other events are clipped. The argument events is at
	// least 1. Contribution is nil for kinds with Values and for derived kinds.
	Contribution func(events uint64, b Bounds) (counted uint64, total int64)
	// Value returns the contribution of a kept event to the count, given the event's clamped value.
	// It is set for kinds with Values and for a Part that is a sum.
	Value func(value int64, b Bounds) int64
	// OncePerUser is set if a user whose events in a window span several budget periods is counted
	// only once. The user is still charged in each period.
	OncePerUser bool
	// NotPrivate is the reason why metrics of the kind cannot have private keys, or "" if they can.
	// The threshold for private keys has to hide Sensitivity.
	NotPrivate string
	// Share is set for the kind of derived metrics that release how many events their base metric
	// counts and leaves out. The events of users whom the base metric does not admit are included.
	// It has its own windows and admissions, and the keys EventsCounted and EventsLeftOut.
	Share bool
	// Part and Statistic are set for the kinds of other derived metrics. Such a metric has the keys
	// and admissions of its base metric and receives no events.
	Part      *Part
	Statistic *Statistic
	Vector    *Vector // set if one value is computed from several components of a count
	Tree      *Tree   // set if a count also has a tree of values
	Texts     Texts
}

// Part describes a further component of a metric's counts. It is drawn after the first component
// has stopped, and is published only as part of that metric's values.
type Part struct {
	// Again is set for a component that counts what the first component counts, with a different
	// precision. It replaces the first component in values computed from several components.
	Again bool
	// Nodes returns the scale of a tree of values. It is set for a component with a cell for each
	// node of the tree. edges are the edges of a histogram.
	Nodes func(b Bounds, edges []int64) (*Scale, error)
}

// Statistic describes a value that is computed from the draws of another metric and released
// alongside that metric. It draws nothing itself.
type Statistic struct {
	// Compute returns the value, and whether its error is at most absolute at the metric's
	// confidence. b holds the bounds of the derived metric.
	Compute func(known Known, b Bounds, absolute float64) (e Estimate, met bool, err error)
	ValueOf string // name of the kind, such as mean, whose value is computed; "" for none
	Ranked  bool   // set for a quantile, whose rank in millionths is Bounds.Max
}

// Texts are the descriptions of a kind for human readers.
type Texts struct {
	Counted string // the things that are counted, in the configuration reference; "" for derived kinds
	// Label names the kind in headings. With Values it also names a count: "a sum needs min and
	// max".
	Label string
	Short string // shorter name of a Statistic for narrow columns; "" if Name is short enough
	// Value describes a count. {value} stands for the value field, {min} and {max} for the bounds
	// of values, and {of} for the base metric of a derived metric.
	Value string
	// Wanted describes the target of a Statistic. {absolute} stands for the target, {least rank}
	// and {greatest rank} for the ends of the range of ranks that the target permits.
	Wanted   string
	Together string // heading of a chart with all statistics of this kind for the metric {of}
	Target   string // target of a Statistic in a table; {percent} is 100 times {absolute}
	// Size is the unit in which noise and target are compared, as in "from 1,000 events". It is ""
	// if they are compared in the unit of the count.
	Size string
	Verb string // as in "metric m sums values"; "" for kinds without Values
}

// Bounds limits the contribution of one user to one count. Events ≥ 1 is the maximum number of
// events for a key in a window. For kinds with Values, each value is limited to the range from Min
// to Max ≥ Min. Events times the greatest absolute value must fit into an int64.
type Bounds struct{ Events, Min, Max int64 }

// Sensitivity returns the greatest change that one user can cause in one count, in units of the
// count. With sensitivity c, a release costs the user c² times the release's precision
// (units.Charge), and the threshold for private keys has to hide c.
func (k Kind) Sensitivity(b Bounds) int64 {
	least, greatest := k.Range(b)
	return max(-least, greatest)
}

// Derived reports whether metrics of the kind are derived from another metric. A configuration
// cannot name such a kind.
func (k Kind) Derived() bool { return k.Share || k.Part != nil || k.Statistic != nil }

// Values reports whether metrics of the kind use the values of events. Of a user's events for a
// key, the Bounds.Events events with the lowest ranks are kept; their values are clamped to
// Bounds.Min and Bounds.Max and added up. Such a metric needs a value field, min and max, and
// contributions list its events one by one.
func (k Kind) Values() bool { return k.Value != nil && k.Part == nil }

// EventBound reports whether Bounds.Events limits a contribution.
func (k Kind) EventBound() bool { return (k.Contribution != nil || k.Values()) && !k.OncePerUser }

// ValueOf returns Statistic.ValueOf, or "" if the kind has no Statistic.
func (k Kind) ValueOf() string {
	if k.Statistic == nil {
		return ""
	}
	return k.Statistic.ValueOf
}

// HasNodes reports whether the kind is a Part with a cell for each node of a tree.
func (k Kind) HasNodes() bool { return k.Part != nil && k.Part.Nodes != nil }

// HasUnit reports whether released values, or edges of shares, are in the unit of the value field.
func (k Kind) HasUnit() bool {
	if base := k.ValueOf(); base != "" {
		k = Of(base)
	}
	return k.Values() && k.Tree == nil || k.Statistic != nil
}

// Together is the text that is shown instead of the empty key.
const Together = "all together"

// unlimited is the Range of an unknown kind. No account can pay for such a contribution.
func unlimited(Bounds) (least, greatest int64) { return -math.MaxInt64, math.MaxInt64 }
