package metrickind

import "math"

// Kind holds everything that distinguishes one kind of metric from another. A count is a metric's
// value for one window and key.
type Kind struct {
	Name string // in configurations, definitions and releases
	// Range returns the possible contributions of one user to one count: from least ≤ 0 to greatest
	// ≥ 0, in units of the count.
	Range func(b Bounds) (least, greatest int64)
	// Contribution returns how many of a user's events for a key in a window (at least one) are
	// counted, and the user's contribution to the count; the other events are clipped. It is nil
	// for kinds with Values and for derived kinds.
	Contribution func(events uint64, b Bounds) (counted uint64, total int64)
	// Value returns what an event that is kept contributes to the count, given its clamped value.
	// It is set for kinds with Values and for a Part that is a sum.
	Value func(value int64, b Bounds) int64
	// OncePerUser is set if a user whose events in a window span several budget periods is counted
	// only once, though charged in each period.
	OncePerUser bool
	// NotPrivate is the reason why keys cannot be private, or "". The threshold for private keys
	// has to hide Sensitivity.
	NotPrivate string
	// Share is set for a derived metric that counts the events of its base metric, both counted and
	// left out, even those of users whom that metric does not admit. It has its own windows and
	// admissions, and the keys EventsCounted and EventsLeftOut.
	Share bool
	// Part and Statistic are set for other derived metrics, which have the keys and the admissions
	// of their base metric and take no events.
	Part      *Part
	Statistic *Statistic
	Vector    *Vector // set if a count has several components that become one value
	Tree      *Tree   // set if a count also has a tree of values
	Texts     Texts
}

// Part is a further component of a metric's counts. It is drawn after the first component has
// stopped, and published only as part of that metric.
type Part struct {
	// Again is set for a component that counts the same things as the first one, with another
	// precision. It replaces the first one in values computed from several components.
	Again bool
	// Nodes returns the scale of a tree of values; it is set for a component with a cell for each
	// node. edges are a histogram's.
	Nodes func(b Bounds, edges []int64) (*Scale, error)
}

// Statistic is computed from the draws of another metric and released alongside it; it draws
// nothing.
type Statistic struct {
	// Compute returns the value, and whether its error is at most absolute with the stated
	// probability. b are the bounds of the derived metric.
	Compute func(known Known, b Bounds, absolute float64) (e Estimate, met bool, err error)
	ValueOf string // name of the kind whose value this is, such as mean; "" for none
	Ranked  bool   // a quantile: Bounds.Max is its rank, in millionths
}

// Texts are the descriptions of a kind for people.
type Texts struct {
	Counted string // counted things, in the configuration reference; "" for derived kinds
	// Label names the kind in a heading; for kinds with Values it also names one count, as in "a
	// sum needs min and max".
	Label string
	Short string // shorter name of a Statistic for narrow places; "" if the name is short
	// Value describes a count. {value} is the value field, {min} and {max} are the bounds of
	// values, {of} is the base metric of a derived one.
	Value string
	// Wanted describes the target of a Statistic: {absolute} is the target, {least rank} and
	// {greatest rank} are the ranks it allows.
	Wanted   string
	Together string // heading of a chart with all statistics of this kind for one metric, {of}
	Target   string // target of a Statistic in a table: {absolute}, or {percent}, 100 times that
	// Size is the unit that noise and target are compared in, as in "from 1,000 events"; "" for the
	// count itself.
	Size string
	Verb string // as in "metric m sums values"; "" for kinds without Values
}

// Bounds limits the contribution of one user to one count: to Events ≥ 1 events of a key in a
// window and, for kinds with Values, each value to the range from Min to Max ≥ Min. Events times
// the greatest absolute value must fit an int64.
type Bounds struct{ Events, Min, Max int64 }

// Sensitivity returns the greatest change of one count by one user, in units of the count. With
// sensitivity c, a release costs the user c² times its precision (units.Charge), and the threshold
// of a private key has to hide c.
func (k Kind) Sensitivity(b Bounds) int64 {
	least, greatest := k.Range(b)
	return max(-least, greatest)
}

// Derived reports whether metrics of the kind are derived from another metric; no configuration
// names the kind.
func (k Kind) Derived() bool { return k.Share || k.Part != nil || k.Statistic != nil }

// Values reports whether a metric uses the values of events: of a user's events for a key, the
// Bounds.Events with the lowest ranks are kept, and their values are clamped to Bounds.Min and
// Bounds.Max and added up. Such a metric needs a value field, min and max, and contributions list
// its events one by one.
func (k Kind) Values() bool { return k.Value != nil && k.Part == nil }

// EventBound reports whether Bounds.Events limits a contribution.
func (k Kind) EventBound() bool { return (k.Contribution != nil || k.Values()) && !k.OncePerUser }

// ValueOf returns Statistic.ValueOf; "" for other kinds.
func (k Kind) ValueOf() string {
	if k.Statistic == nil {
		return ""
	}
	return k.Statistic.ValueOf
}

// HasNodes reports whether the kind is a Part that has a cell for each node of a tree.
func (k Kind) HasNodes() bool { return k.Part != nil && k.Part.Nodes != nil }

// HasUnit reports whether released values, or the edges of released shares, are in the unit of the
// events' values.
func (k Kind) HasUnit() bool {
	if base := k.ValueOf(); base != "" {
		k = Of(base)
	}
	return k.Values() && k.Tree == nil || k.Statistic != nil
}

// Together is shown instead of the empty key.
const Together = "all together"

// unlimited is the Range of an unknown kind: no account can pay for it.
func unlimited(Bounds) (least, greatest int64) { return -math.MaxInt64, math.MaxInt64 }
