package reference

// generations lists a configuration and those before it, oldest first.
func (c *Config) generations() []Config {
	if c.Before == nil {
		return []Config{*c}
	}
	return append(c.Before.generations(), *c)
}

// Succeed returns c as the generation that follows before. Its first turn is from, and none of its
// windows begins before that turn. below is, by partition, the offset up to which records were read
// under before.
func Succeed(before, c Config, from uint64, below map[int32]int64) Config {
	c.Before, c.From, c.Below, c.Start, c.Since = &before, from, below, before.Start, before.since()
	if ends := before.TurnEnds(from - 1); len(ends) > 0 {
		c.Since = ends[len(ends)-1]
	}
	return c
}

// deciderOf returns the index of the generation that decides a turn: the last generation whose
// first turn is not later.
func deciderOf(generations []Config, turn uint64) int {
	for i := len(generations) - 1; i > 0; i-- {
		if generations[i].From <= turn {
			return i
		}
	}
	return 0
}

// judgeOf returns the index of the generation whose time settings apply to a record: the one in
// force when the record was first read.
func judgeOf(generations []Config, partition int32, offset int64) int {
	for i := 1; i < len(generations); i++ {
		if offset < generations[i].Below[partition] {
			return i - 1
		}
	}
	return len(generations) - 1
}

// since returns the time before which no window of a generation begins.
func (c *Config) since() int64 {
	if c.Before == nil {
		return c.Zone.Begins(c.Start)
	}
	return c.Since
}
