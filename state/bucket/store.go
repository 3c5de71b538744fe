package bucket

import (
	"slices"

	"github.com/tollgate-dp/tollgate/state/internal/stored"
)

func (*state) Kind() stored.Kind { return "bucket.Filter" }

// Blank is of the same gate and ladder: of them a state knows just enough to tell others apart.
func (s *state) Blank() (state, bool) {
	if s.gate == nil {
		return *s, false
	}
	return state{s.gate, s.ladder, s.gate.table.NewCounts()}, true
}

func (s *state) Layout(c *stored.Codec) {
	budget := s.gate.budget
	c.Parameters.Float(&budget.Mu)
	c.Parameters.Float(&budget.Slack)
	c.Check(budget == s.gate.budget, "it has another budget than the gate of the filter that it is read into")
	digest := slices.Clone(s.gate.table.digest[:])
	c.Parameters.Bytes(&digest)
	c.Check(slices.Equal(digest, s.gate.table.digest[:]), "it was made with another table: other pairs, or other options")
	levels := slices.Clone(s.ladder.sigmas)
	n := len(levels)
	if c.Parameters.Length(&n, 8); n != len(levels) {
		c.Check(false, "it was made with another ladder")
		return
	}
	for i := range levels {
		c.Parameters.Float(&levels[i])
	}
	c.Check(slices.Equal(levels, s.ladder.sigmas), "it was made with another ladder")
	for i := range s.counts {
		c.Progress.Count(&s.counts[i])
	}
}
