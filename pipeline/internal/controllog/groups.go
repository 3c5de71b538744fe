package controllog

import (
	"maps"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Group is the progress of a group of partitions in the epoch, as its reader reported it.
type Group struct {
	Turn    uint64             // the last turn that the group has passed
	Cuts    []schemas.GroupCut // ends of that turn, and of those before it that no CLOSE has yet
	Each    map[uint64]uint64  // accepted records, by turn that is not settled
	Tallies schemas.ReadTallies
	// Unclosed are the tallies of records after Cuts.
	Unclosed schemas.ReadTallies
	AtEnd    bool
	Last     uint64
	Redo     uint64
}

// observePassed applies a PASSED of the last reader of its group before the epoch. It ignores turns
// that the group has already passed: a turn has one cut and one number of records.
func (v *View) observePassed(offset int64, p *schemas.Passed) {
	g := v.Groups[p.Group]
	switch {
	case !v.inForce(p.Epoch) || !v.TakesPart(p.Group, p.Reader):
		return
	case p.Group == 0:
		if g == nil {
			v.Groups[0] = &Group{Redo: p.Redo}
		}
		return
	}
	if what := v.misplaced(p); what != "" {
		v.foreign(offset, "is a PASSED of a reader whose partitions "+what+
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

// misplaced returns what is wrong with the cuts of a PASSED, or "": it must have cuts for all
// partitions of its group that the last CLOSE has, none before that one's, and none of another
// group. It needs none if it passes no more turns than before.
func (v *View) misplaced(p *schemas.Passed) string {
	r := v.readers[v.Run]
	if r == nil {
		return "" // its READER is below the offset at which reading began
	}
	cuts := map[int32]int64{}
	for i := range p.Cuts {
		c := &p.Cuts[i]
		if uint32(c.Partition)%r.groups != p.Group {
			return "are those of another group, too"
		}
		cuts[c.Partition] = c.Cut.Cut
	}
	last := v.Closes[v.Closed]
	if g := v.Groups[p.Group]; p.Turn <= v.Closed || last == nil || g != nil && p.Turn <= g.Turn {
		return ""
	}
	for _, c := range last.Cuts {
		cut, has := cuts[c.Partition]
		switch {
		case uint32(c.Partition)%r.groups != p.Group:
		case !has:
			return "are not all of its group"
		case cut < c.Cut:
			return "end before those of the last CLOSE"
		}
	}
	return ""
}

func (g *Group) settled(turn uint64) {
	maps.DeleteFunc(g.Each, func(t, _ uint64) bool { return t <= turn })
}

// readers knows the last reader of every group of one run but group 0.
type readers struct {
	groups uint32           // how many the run has
	last   map[uint32]int64 // by group: the offset of its last READER
	newest int64            // the newest of all groups
}

// observeReader takes a READER of the run in force, or of one that may follow it.
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
		v.foreign(offset, "is a READER of a run with another number of readers, and is ignored")
		return
	}
	r.last[b.Group], r.newest = offset, offset
}

// beginReaders admits the last reader of every group of a run to the epoch that the run has taken.
func (v *View) beginReaders(run int64) {
	maps.DeleteFunc(v.readers, func(number int64, _ *readers) bool { return number < run })
	v.part = map[uint32]int64{}
	if r := v.readers[run]; r != nil {
		maps.Copy(v.part, r.last)
	}
}

// TakesPart reports whether a reader belongs to the epoch, as the last one of its group before the
// EPOCH. If its READER may be below the offset at which reading began, and no other reader of its
// group began before the EPOCH, the claim is accepted: a reader knows the epoch only from a log
// that has both.
func (v *View) TakesPart(group uint32, reader int64) bool {
	if newest, known := v.part[group]; known {
		return newest == reader
	}
	return group == 0 || reader >= 0 && reader < min(v.begun, v.Epoch)
}

// Replaced reports whether another reader of a group has begun after one of a run.
func (v *View) Replaced(run int64, group uint32, reader int64) bool {
	r := v.readers[run]
	return r != nil && r.last[group] > reader
}

// Joining reports whether a reader of a run waits for the next epoch, and how many of the groups
// have had one since an offset.
func (v *View) Joining(run, since int64) (waits bool, groups int) {
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
