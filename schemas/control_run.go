package schemas

import (
	"bytes"
	"cmp"
	"math"
)

// Reader announces that a process of a run has begun to read a group of partitions; the reader's
// number is the record's offset. The reader belongs to all later epochs until another reader of its
// group begins. Group 0 needs none: its reader takes the epochs.
type Reader struct {
	Run    int64  // the run's number
	Group  uint32 // 1 ≤ Group < Groups
	Groups uint32 // number of groups of the run; at most MaxGroups
}

// MaxGroups bounds the groups of partitions of a run.
const MaxGroups = 1 << 12

// Passed reports the progress of the reader of a group of partitions. It counts only if its epoch
// is the last EPOCH before it, and its reader the last one of the group before that EPOCH. The
// first one that names a turn assigns to the turn, for the group, the records before its cuts.
type Passed struct {
	Epoch  int64
	Group  uint32 // 0: from the reader that takes the epochs, with Redo only
	Reader int64  // the number of the reader; 0 for group 0
	// Turn is the last turn that every partition of the group has passed, or that was read up to
	// the cuts of its CLOSE; the greatest uint64 where the group has read all that the run reads.
	Turn    uint64
	Each    []TurnRecords // by turn, strictly ascending, up to Turn; of a turn that is not in it there are none
	Cuts    []GroupCut    // by partition, strictly ascending; none where every turn up to Turn is closed
	Tallies ReadTallies   // tallies of the records before Cuts; without Cuts, of all records since the last ones
	AtEnd   bool          // the group's partitions were read to their ends as of the start of the run
	Last    uint64        // the last turn that owns an event of it, as far as it was read; 0 for none
	// group 0 only: the turn that is redone from the ledger; 0 for none
	Redo uint64
}

// TurnRecords is how many records of a turn a group has accepted before its cuts.
type TurnRecords struct{ Turn, Records uint64 }

// GroupCut is a partition's cut in a Passed. Its Restart and AppendTime are those for turns after
// the last one that was passed.
type GroupCut struct {
	Cut
	// Marks are the offsets at which passed turns must be read again: the partition's first
	// accepted record of each turn that is not closed, by turn, strictly ascending, before the cut.
	Marks []TurnMark
}

// TurnMark is the position of a partition's first record of a turn.
type TurnMark struct {
	Turn       uint64
	Offset     int64
	AppendTime int64 // the largest append time before Offset, Unix milliseconds
}

// For returns the cut for a CLOSE of turns up to one that was passed: with the first record of any
// later turn as its Restart.
func (g *GroupCut) For(turn uint64) Cut {
	c := g.Cut
	for _, m := range g.Marks {
		if m.Turn > turn && m.Offset < c.Restart {
			c.Restart, c.AppendTime = m.Offset, m.AppendTime
		}
	}
	return c
}

// Lost reports that a stage has lost a partition to another writer in an epoch, which ends the
// epoch. It counts only if its epoch is the last EPOCH before it.
type Lost struct{ Epoch int64 }

// Drain asks a run to finish the open turn and to end. It counts for the run whose number it names.
type Drain struct{ Run int64 }

// End reports that a run has ended as planned. It counts only if its epoch is the last EPOCH before
// it.
type End struct {
	Epoch   int64
	Drained bool
	// the last turn that the run was to settle; 0 if no turn was named, OwedUnknown if it was not
	// read yet
	Owed    uint64
	Tallies ReadTallies // tallies of records that no CLOSE has tallied: the next run reads them again
}

// OwedUnknown is Owed of a run that was drained before it had read all that it was to settle.
const OwedUnknown = math.MaxUint64

func (*Reader) controlKind() Kind { return KindReader }
func (*Passed) controlKind() Kind { return KindPassed }
func (*Lost) controlKind() Kind   { return KindLost }
func (*Drain) controlKind() Kind  { return KindDrain }
func (*End) controlKind() Kind    { return KindEnd }

func (r *Reader) layout(w *wire) {
	w.int(&r.Run, "run")
	w.uint32(&r.Group, "group")
	w.uint32(&r.Groups, "groups")
	w.check(r.Group > 0 && r.Group < r.Groups && r.Groups <= MaxGroups, "no such group")
}

func (p *Passed) layout(w *wire) {
	p.fields(w)
	w.check(p.Group < MaxGroups, "no such group")
	w.check(p.Group == 0 || p.Redo == 0, "what is done again, and not of the reader that takes the epochs")
	if p.Group == 0 {
		all, redo := newWriter(nil, KindPassed), newWriter(nil, KindPassed)
		p.fields(all)
		(&Passed{Epoch: p.Epoch, Redo: p.Redo}).fields(redo)
		w.check(bytes.Equal(all.out, redo.out), "of the reader that takes the epochs, and more than what is done again")
	}
}

func (p *Passed) fields(w *wire) {
	w.int(&p.Epoch, "epoch")
	w.uint32(&p.Group, "group")
	w.int(&p.Reader, "reader")
	w.uint(&p.Turn, "turn")
	list(w, &p.Each, 2, "turns", func(e *TurnRecords, w *wire) {
		w.uint(&e.Turn, "turn")
		w.uint(&e.Records, "contributions of a turn")
		w.check(e.Turn > 0 && e.Turn <= p.Turn, "a turn that was not passed")
	})
	ascend(w, p.Each, "turns", func(a, b *TurnRecords) int { return cmp.Compare(a.Turn, b.Turn) })
	list(w, &p.Cuts, 8, "cuts", func(g *GroupCut, w *wire) { g.layout(w, p.Turn) })
	ascend(w, p.Cuts, "partitions", func(a, b *GroupCut) int { return cmp.Compare(a.Partition, b.Partition) })
	p.Tallies.layout(w)
	w.bool(&p.AtEnd, "at the end")
	w.uint(&p.Last, "last turn")
	w.uint(&p.Redo, "turn done again")
}

func (g *GroupCut) layout(w *wire, passed uint64) {
	g.Cut.layout(w)
	w.check(g.Partition >= 0 && g.Restart >= 0 && g.Restart <= g.Cut.Cut,
		"a cut of no partition, or one that stands before its restart")
	list(w, &g.Marks, 3, "marks", func(m *TurnMark, w *wire) {
		w.uint(&m.Turn, "turn")
		w.int(&m.Offset, "offset")
		w.int(&m.AppendTime, "append time")
		w.check(m.Turn <= passed, "a mark of a turn that was not passed")
		w.check(m.Offset >= 0 && m.Offset < g.Cut.Cut, "a mark that does not stand before the cut")
	})
	ascend(w, g.Marks, "marks", func(a, b *TurnMark) int { return cmp.Compare(a.Turn, b.Turn) })
}

func (l *Lost) layout(w *wire)  { w.int(&l.Epoch, "epoch") }
func (r *Drain) layout(w *wire) { w.int(&r.Run, "run") }

func (e *End) layout(w *wire) {
	w.int(&e.Epoch, "epoch")
	w.bool(&e.Drained, "drained")
	w.uint(&e.Owed, "last turn")
	if w.more(e.Tallies.Read > 0) {
		e.Tallies.layout(w)
		w.check(e.Tallies.Read > 0, "tallies of no record")
	}
}
