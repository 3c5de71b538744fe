package schemas

import (
	"bytes"
	"cmp"
	"math"
)

// Reader announces that a process of a run has begun to read a group of partitions. The record's
// offset is the reader's number. The reader takes part in all later epochs until another reader of
// its group begins. Group 0 has no Reader records: its reader begins the epochs.
type Reader struct {
	Run    int64  // the run's number
	Group  uint32 // 1 ≤ Group < Groups
	Groups uint32 // number of groups in the run; at most MaxGroups
}

// MaxGroups is the maximum number of groups of partitions in a run.
const MaxGroups = 1 << 12

// Passed reports the progress of the reader of a group of partitions. A Passed is valid only if its
// epoch is the last EPOCH before it and its reader is the group's last Reader before that EPOCH.
// The first Passed that names a turn assigns the records before its cuts to that turn.
type Passed struct {
	Epoch  int64
	Group  uint32 // 0 is the group of the reader that begins the epochs; then only Redo is set
	Reader int64  // the reader's number; 0 for group 0
	// Turn is the last turn that every partition of the group has passed, or has read up to the
	// cuts in the turn's CLOSE. It is the greatest uint64 if the group has read everything.
	Turn    uint64
	Each    []TurnRecords // by turn up to Turn, strictly ascending; turns without records are absent
	Cuts    []GroupCut    // by partition, strictly ascending; empty if every turn up to Turn is closed
	Tallies ReadTallies   // of the records before Cuts or, without Cuts, of all records since the previous Cuts
	AtEnd   bool          // whether the partitions were read to the ends they had when the run started
	Last    uint64        // last turn with an event among those that the group has read; 0 for none
	Redo    uint64        // group 0 only: turn that is being redone from the ledger; 0 for none
}

// TurnRecords is the number of a turn's records that a group accepted before its cuts.
type TurnRecords struct{ Turn, Records uint64 }

// GroupCut is a partition's cut in a Passed. Restart and AppendTime are for turns after
// Passed.Turn.
type GroupCut struct {
	Cut
	// Marks lists, for each turn that is passed but not closed, the turn's first accepted record in
	// the partition if it is before the cut. Marks ascend strictly by turn.
	Marks []TurnMark
}

// TurnMark is the position of a partition's first record of a turn.
type TurnMark struct {
	Turn       uint64
	Offset     int64
	AppendTime int64 // largest append time before Offset, Unix milliseconds
}

// For returns the cut for the CLOSE of a turn that was passed. The cut's Restart is the offset of
// the first record of any later turn.
func (g *GroupCut) For(turn uint64) Cut {
	c := g.Cut
	for _, m := range g.Marks {
		if m.Turn > turn && m.Offset < c.Restart {
			c.Restart, c.AppendTime = m.Offset, m.AppendTime
		}
	}
	return c
}

// Lost ends an epoch because another writer took a partition from a stage. A Lost is valid only if
// its epoch is the last EPOCH before it.
type Lost struct{ Epoch int64 }

// Drain asks a run, identified by its number, to finish the open turn and end.
type Drain struct{ Run int64 }

// End reports that a run ended as planned. It is valid only if its epoch is the last EPOCH.
type End struct {
	Epoch   int64
	Drained bool
	Owed    uint64      // last turn that the run was to settle; 0 if none was set; may be OwedUnknown
	Tallies ReadTallies // of the records that no CLOSE has counted; the next run reads them again
}

// OwedUnknown is the value of End.Owed for a run that was drained before it had read everything
// that it was to settle.
const OwedUnknown = math.MaxUint64

func (*Reader) controlKind() Kind { return KindReader }
func (*Passed) controlKind() Kind { return KindPassed }
func (*Lost) controlKind() Kind   { return KindLost }
func (*Drain) controlKind() Kind  { return KindDrain }
func (*End) controlKind() Kind    { return KindEnd }

func (r *Reader) layout(w *wire) {
	w.fields("run", &r.Run, "group", &r.Group, "groups", &r.Groups)
	w.check(r.Group > 0 && r.Group < r.Groups && r.Groups <= MaxGroups, "no such group")
}

func (p *Passed) layout(w *wire) {
	p.fields(w)
	w.check(p.Group < MaxGroups, "no such group")
	w.check(p.Group == 0 || p.Redo == 0, "a redone turn, but not from the reader that begins the epochs")
	if p.Group == 0 {
		all, redo := newWriter(nil, KindPassed), newWriter(nil, KindPassed)
		p.fields(all)
		(&Passed{Epoch: p.Epoch, Redo: p.Redo}).fields(redo)
		w.check(bytes.Equal(all.out, redo.out), "from the reader that begins the epochs, with more than a turn done "+
			"again")
	}
}

func (p *Passed) fields(w *wire) {
	w.fields("epoch", &p.Epoch, "group", &p.Group, "reader", &p.Reader, "turn", &p.Turn)
	list(w, &p.Each, 2, "turns", func(e *TurnRecords, w *wire) {
		w.fields("turn", &e.Turn, "contributions of a turn", &e.Records)
		w.check(e.Turn > 0 && e.Turn <= p.Turn, "a turn that was not passed")
	})
	ascend(w, p.Each, "turns", func(a, b *TurnRecords) int { return cmp.Compare(a.Turn, b.Turn) })
	list(w, &p.Cuts, 8, "cuts", func(g *GroupCut, w *wire) { g.layout(w, p.Turn) })
	ascend(w, p.Cuts, "partitions", func(a, b *GroupCut) int { return cmp.Compare(a.Partition, b.Partition) })
	p.Tallies.layout(w)
	w.fields("at the end", &p.AtEnd, "last turn", &p.Last, "turn done again", &p.Redo)
}

func (g *GroupCut) layout(w *wire, passed uint64) {
	g.Cut.layout(w)
	w.check(g.Partition >= 0 && g.Restart >= 0 && g.Restart <= g.Cut.Cut,
		"a cut of no partition, or one before its restart")
	list(w, &g.Marks, 3, "marks", func(m *TurnMark, w *wire) {
		w.fields("turn", &m.Turn, "offset", &m.Offset, "append time", &m.AppendTime)
		w.check(m.Turn <= passed, "a mark of a turn that was not passed")
		w.check(m.Offset >= 0 && m.Offset < g.Cut.Cut, "a mark that is not before the cut")
	})
	ascend(w, g.Marks, "marks", func(a, b *TurnMark) int { return cmp.Compare(a.Turn, b.Turn) })
}

func (l *Lost) layout(w *wire)  { w.int(&l.Epoch, "epoch") }
func (r *Drain) layout(w *wire) { w.int(&r.Run, "run") }

func (e *End) layout(w *wire) {
	w.fields("epoch", &e.Epoch, "drained", &e.Drained, "last turn", &e.Owed)
	if w.more(e.Tallies.Read > 0) {
		e.Tallies.layout(w)
		w.check(e.Tallies.Read > 0, "tallies of no records")
	}
}
