package generate

import "maps"

// Truth counts records by their outcome under the rules of the pipeline. Read is the sum of the
// others.
type Truth struct {
	Read, BeforeStart, Late, Future, Accepted uint64
	DeadLettered                              map[string]uint64 // by class
}

func (t Truth) clone() Truth {
	t.DeadLettered = maps.Clone(t.DeadLettered)
	return t
}
