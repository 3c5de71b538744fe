package reference

import "slices"

// generations lists a configuration and those before it, oldest first.
func (c Config) generations() []Config {
	if c.Before == nil {
		return []Config{c}
	}
	return append(c.Before.generations(), c)
}

// Succeed makes c the generation after another one, from a turn on. A metric's windows reach back
// before the change where the other generation had the metric, with the same public keys or with
// the keys of a metric of which that is true; a share goes on with its metric. below are the
// offsets up to which the other generation had read.
func Succeed(before, c Config, from uint64, below map[int32]int64) Config {
	c.Before, c.From, c.Below, c.Start = &before, from, below, before.Start
	start := c.sliceStart()
	for _, m := range c.Metrics {
		base := m
		if m.Kind == "counted" {
			base = c.Metrics[c.countedIn(m)]
		}
		if base.KeyMode == "from" {
			at, _ := c.metric(base.KeysFrom)
			base = c.Metrics[at]
		}
		same := func(name string) bool {
			at, there := before.metric(name)
			return there && (base.Kind == "coverage" || slices.EqualFunc(before.Metrics[at].PublicKeys, base.PublicKeys, slices.Equal))
		}
		if _, there := before.metric(m.Name); there && same(base.Name) {
			c.Starts = append(c.Starts, before.startOf(m.Name))
		} else {
			c.Starts = append(c.Starts, start)
		}
	}
	return c
}

// decides returns the generation that decides a turn: of two that begin with the same turn the
// later one.
func decides(all []Config, turn uint64) int {
	for i := len(all) - 1; i > 0; i-- {
		if all[i].From <= turn {
			return i
		}
	}
	return 0
}

// judges returns the generation whose times judge a record: the one that was in force when it was
// first read.
func judges(all []Config, partition int32, offset int64) int {
	for i := 1; i < len(all); i++ {
		if offset < all[i].Below[partition] {
			return i - 1
		}
	}
	return len(all) - 1
}

// sliceStart is where the first turn of a generation begins.
func (c Config) sliceStart() int64 {
	if c.Before == nil || c.From <= 1 {
		return c.Start
	}
	return c.TurnEnds(c.From - 1)[c.From-2]
}

// startOf returns the time before which no window of a metric begins.
func (c Config) startOf(name string) int64 {
	if i, ok := c.metric(name); ok && c.Starts != nil {
		return c.Starts[i]
	}
	return c.Start
}

// names lists the metrics of all generations, each once, in the order of their coming.
func names(all []Config) []string {
	var out []string
	for _, c := range all {
		for _, m := range c.Metrics {
			if !isComponent(m) && !isStatistic(m) && !slices.Contains(out, m.Name) {
				out = append(out, m.Name)
			}
		}
	}
	return out
}

// givenUp tells whether a change has cut a window short: it was open, and a generation that
// followed, whose first turn begins at the start given with it, does not go on with it.
func givenUp(later []Config, starts []int64, name string, w window) bool {
	for i, next := range later {
		if w.end <= starts[i] {
			return false
		}
		if _, there := next.metric(name); !there || next.startOf(name) > w.start {
			return true
		}
	}
	return false
}
