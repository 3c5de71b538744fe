package controllog

import (
	"maps"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Group is how far a group of partitions has been read in the epoch, as its reader reported it.
type Group struct {
	Turn    uint64             // last turn that the group has passed
	Cuts    []schemas.GroupCut // cuts for Turn, and for earlier turns without a CLOSE
	Each    map[uint64]uint64  // number of accepted records, by unsettled turn
	Tallies schemas.ReadTallies
	// Unclosed holds the tallies of the records after Cuts.
	Unclosed schemas.ReadTallies
	AtEnd    bool
	Last     uint64
	Redo     uint64
}

// observePassed applies a PASSED of a reader that belongs to the epoch. It ignores turns that the
// group has already passed, because a turn has only one cut and one number of records.
func (v *View) observePassed(offset int64, p *schemas.Passed) {
	g := v.Groups[p.Group]
	switch {
	case !v.inForce(p.Epoch) || !v.IsMember(p.Group, p.Reader):
		return
	case p.Group == 0:
		if g == nil {
			v.Groups[0] = &Group{Redo: p.Redo}
		}
		return
	}
	if what := v.misplaced(p); what != "" {
		v.reportForeign(offset, "is a PASSED of a reader whose cuts "+what+
			", so it is ignored and its turns stay open: check that all processes of the run have the same version")
		return
	}
	if g == nil {
		g = &Group{Each: map[uint64]uint64{}}
		v.Groups[p.Group] = g
	}
	if len(p.Cuts) == 0 {
		g.Unclosed = p.Tallies
	}
	if p.Turn > g.Turn {
		for _, e := range p.Each {
			if e.Turn > max(g.Turn, v.Settled) {
				g.Each[e.Turn] = e.Records
			}
		}
		if len(p.Cuts) > 0 {
			g.Cuts, g.Unclosed = p.Cuts, schemas.ReadTallies{}
			g.Tallies.Add(p.Tallies)
		}
		g.Turn = p.Turn
	}
	g.AtEnd, g.Last = p.AtEnd, p.Last
}

// misplaced returns what is wrong with the cuts of a PASSED, or "". A PASSED that passes more turns
// must contain a cut for every partition that its group has in the last CLOSE. The cut must not be
// before the CLOSE's cut. Cuts for partitions of other groups are forbidden.
func (v *View) misplaced(p *schemas.Passed) string {
	r := v.readers[v.Run]
	if r == nil {
		return "" // the reader's READER is below v.begun
	}
	cuts := map[int32]int64{}
	for i := range p.Cuts {
		c := &p.Cuts[i]
		if uint32(c.Partition)%r.groups != p.Group {
			return "include a partition of another group"
		}
		cuts[c.Partition] = c.Cut.Cut
	}
	last := v.Closes[v.Closed]
	if g := v.Groups[p.Group]; p.Turn <= v.Closed || last == nil || g != nil && p.Turn <= g.Turn {
		return ""
	}
	for _, c := range last.Cuts {
		cut, included := cuts[c.Partition]
		switch {
		case uint32(c.Partition)%r.groups != p.Group:
		case !included:
			return "do not include every partition of its group"
		case cut < c.Cut:
			return "are before those of the last CLOSE"
		}
	}
	return ""
}

func (g *Group) dropSettled(turn uint64) {
	maps.DeleteFunc(g.Each, func(t, _ uint64) bool { return t <= turn })
}

// readers holds the last reader of every group of one run, except group 0.
type readers struct {
	groups uint32           // number of groups
	last   map[uint32]int64 // offset of the last READER, by group
	newest int64            // offset of the last READER of any group
}

// observeReader applies a READER of the run in force, or of a run that may follow it.
func (v *View) observeReader(offset int64, b *schemas.Reader) {
	if b.Run < max(v.Run, 0) || b.Run >= offset {
		return
	}
	r := v.readers[b.Run]
	if r == nil {
		r = &readers{groups: b.Groups, last: map[uint32]int64{}}
		v.readers[b.Run] = r
	}
	if b.Groups != r.groups {
		v.reportForeign(offset, "is a READER of a run with another number of readers, and is ignored")
		return
	}
	r.last[b.Group], r.newest = offset, offset
}

// beginReaders makes the last reader of each group of a run a member of the run's new epoch.
func (v *View) beginReaders(run int64) {
	maps.DeleteFunc(v.readers, func(number int64, _ *readers) bool { return number < run })
	v.members = map[uint32]int64{}
	if r := v.readers[run]; r != nil {
		maps.Copy(v.members, r.last)
	}
}

// IsMember reports whether a reader belongs to the epoch: it must be the last reader of its group
// before the EPOCH. If its READER may be below v.begun, and its group has no other READER before
// the EPOCH, it is a member too, because a reader knows the epoch only from a log that contains
// both records.
func (v *View) IsMember(group uint32, reader int64) bool {
	if newest, known := v.members[group]; known {
		return newest == reader
	}
	return group == 0 || reader >= 0 && reader < min(v.begun, v.Epoch)
}

// Replaced reports whether a later reader of the same run and group has announced itself.
func (v *View) Replaced(run int64, group uint32, reader int64) bool {
	r := v.readers[run]
	return r != nil && r.last[group] > reader
}

// Joining reports whether a reader of a run waits for the next epoch, and returns how many groups
// have their last READER after offset since.
func (v *View) Joining(run, since int64) (waiting bool, groups int) {
	r := v.readers[run]
	if r == nil {
		return false, 0
	}
	for _, offset := range r.last {
		if offset > since {
			groups++
		}
	}
	return r.newest > v.Epoch, groups
}
