package bucket

import (
	"slices"

	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/internal/opaque"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
)

// unreadable makes encoding/json an error: a filter has no JSON form.
type unreadable = opaque.State

// MarshalBinary returns the budget, what table and ladder there are (of the table a digest), and
// the counts.
func (f *Filter) MarshalBinary() ([]byte, error) {
	return stored.Write(stored.BucketFilter, f, (*Filter).layout)
}

// UnmarshalBinary resumes a stored state, into a filter that NewFilter made of a gate of the same
// budget and table and the same ladder. Counts that are to go on at another gate go through
// ResumeFilter, which says what is promised then. The error is a *accounts.DecodeError; the
// filter is as it was then.
func (f *Filter) UnmarshalBinary(data []byte) error {
	if f.gate == nil {
		return &accounts.DecodeError{What: stored.BucketFilter.String(), Reason: "a filter is read into one that NewFilter made"}
	}
	next := Filter{gate: f.gate, ladder: f.ladder, counts: f.gate.table.NewCounts()}
	return stored.Read(stored.BucketFilter, f, next, (*Filter).layout, data)
}

func (f *Filter) layout(c *stored.Codec) {
	if f.gate == nil {
		c.Check(false, "it was not made by NewFilter")
		return
	}
	budget := f.gate.budget
	c.Parameters.Float(&budget.Mu)
	c.Parameters.Float(&budget.Slack)
	c.Check(budget == f.gate.budget, "it has another budget than the gate of the filter that it is read into")
	digest := slices.Clone(f.gate.table.digest[:])
	c.Parameters.Bytes(&digest)
	c.Check(slices.Equal(digest, f.gate.table.digest[:]), "it was made with another table: other pairs, or other options")
	levels := slices.Clone(f.ladder.sigmas)
	n := len(levels)
	if c.Parameters.Length(&n, 8); n != len(levels) {
		c.Check(false, "it was made with another ladder")
		return
	}
	for i := range levels {
		c.Parameters.Float(&levels[i])
	}
	c.Check(slices.Equal(levels, f.ladder.sigmas), "it was made with another ladder")
	for i := range f.counts {
		c.Progress.Count(&f.counts[i])
	}
}
