package schemas

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Reader says that a reader of a group of partitions has begun in some process of a run; the
// reader's number is the record's offset. It takes part in the epochs that are taken after it, as
// long as no later reader of its group has begun. Group 0 needs none: its reader takes the epochs.
type Reader struct {
	Run    int64  // the run's number
	Group  uint32 // 1 ≤ Group < Groups
	Groups uint32 // of the run; at most MaxGroups
}

// MaxGroups bounds the groups of partitions of a run.
const MaxGroups = 1 << 12

// Passed says how far the reader of a group of partitions has come. It counts only if its epoch is
// the last EPOCH before it, and its reader the last one of the group before that EPOCH. The first
// one that names a turn fixes, for the group, which records belong to the turn: those before its
// cuts.
type Passed struct {
	Epoch  int64
	Group  uint32 // 0: of the reader that takes the epochs, which says Redo and no more
	Reader int64  // the number of the reader; 0 for group 0
	// Turn is the last turn that every partition of the group has passed, or that was read up to
	// the cuts of its CLOSE; the greatest uint64 where the group has read all that the run reads.
	Turn    uint64
	Each    []TurnRecords // by turn, strictly ascending, up to Turn; of a turn that is not in it there are none
	Cuts    []GroupCut    // by partition, strictly ascending; none where every turn up to Turn is closed
	Tallies ReadTallies
	AtEnd   bool   // what stood in the group's partitions when the run began was read
	Last    uint64 // the last turn that owns an event of it, as far as it was read; 0 for none
	Redo    uint64 // of group 0 only: the last turn of the span that is done again from the ledger; 0 for no span
}

// TurnRecords is how many records of a turn a group has accepted before its cuts.
type TurnRecords struct{ Turn, Records uint64 }

// GroupCut is a partition's cut in a Passed. Its Restart and AppendTime are those for turns after
// the last one that was passed.
type GroupCut struct {
	Cut
	// Marks say from where on turns that were passed are read again: the partition's first accepted
	// record of each one that is not closed, by turn, strictly ascending, before the cut.
	Marks []TurnMark
}

// TurnMark is where a partition's first record of a turn stands.
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

// Lost says that a stage has lost a partition to another writer in an epoch, which is over then. It
// counts only if its epoch is the last EPOCH before it.
type Lost struct{ Epoch int64 }

// Drain asks a run to finish the open turn and to end. It counts for the run whose number it names.
type Drain struct{ Run int64 }

// End says that a run has ended as it was to. It counts only if its epoch is the last EPOCH before
// it.
type End struct {
	Epoch   int64
	Drained bool
	Owed    uint64 // the last turn that the run was to settle; 0 where no turn was named, OwedUnknown where it was not read yet
}

// OwedUnknown is Owed of a run that was drained before it had read all that it was to settle.
const OwedUnknown = math.MaxUint64

func (*Reader) controlKind() Kind { return KindReader }

func (r *Reader) check() string {
	if r.Group == 0 || r.Group >= r.Groups || r.Groups > MaxGroups {
		return "no such group"
	}
	return ""
}

func (r *Reader) appendBody(dst []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(binary.AppendVarint(dst, r.Run), uint64(r.Group)), uint64(r.Groups))
}

func (r *Reader) readBody(d *wireDecoder) {
	r.Run, r.Group, r.Groups = d.varint("run"), d.uint32("group"), d.uint32("groups")
	d.checked(r)
}

func (*Passed) controlKind() Kind { return KindPassed }

func (p *Passed) check() string {
	switch {
	case p.Group >= MaxGroups:
		return "no such group"
	case p.Group == 0 && !bytes.Equal(p.appendBody(nil), (&Passed{Epoch: p.Epoch, Redo: p.Redo}).appendBody(nil)):
		return "of the reader that takes the epochs, and more than what is done again"
	case p.Group > 0 && p.Redo != 0:
		return "what is done again, and not of the reader that takes the epochs"
	}
	for i, e := range p.Each {
		if e.Turn == 0 || e.Turn > p.Turn || i > 0 && p.Each[i-1].Turn >= e.Turn {
			return "turns out of order, or one that was not passed"
		}
	}
	for i := range p.Cuts {
		if i > 0 && p.Cuts[i-1].Partition >= p.Cuts[i].Partition {
			return "partitions out of order"
		}
		if what := p.Cuts[i].check(p.Turn); what != "" {
			return what
		}
	}
	for class := range p.Tallies.DeadLettered {
		if len(class) > maxTextBytes {
			return "class too long"
		}
	}
	return ""
}

func (g *GroupCut) check(passed uint64) string {
	if g.Partition < 0 || g.Restart < 0 || g.Restart > g.Cut.Cut {
		return "a cut of no partition, or one that stands before its restart"
	}
	for i, m := range g.Marks {
		if m.Turn > passed || i > 0 && g.Marks[i-1].Turn >= m.Turn {
			return "marks out of order, or of a turn that was not passed"
		}
		if m.Offset < 0 || m.Offset >= g.Cut.Cut {
			return "a mark that does not stand before the cut"
		}
	}
	return ""
}

func (p *Passed) appendBody(dst []byte) []byte {
	dst = binary.AppendVarint(dst, p.Epoch)
	dst = binary.AppendUvarint(dst, uint64(p.Group))
	dst = binary.AppendVarint(dst, p.Reader)
	dst = binary.AppendUvarint(dst, p.Turn)
	dst = binary.AppendUvarint(dst, uint64(len(p.Each)))
	for _, e := range p.Each {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, e.Turn), e.Records)
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.Cuts)))
	for i := range p.Cuts {
		dst = appendCut(dst, &p.Cuts[i].Cut)
		dst = binary.AppendUvarint(dst, uint64(len(p.Cuts[i].Marks)))
		for _, m := range p.Cuts[i].Marks {
			dst = binary.AppendUvarint(dst, m.Turn)
			dst = binary.AppendVarint(dst, m.Offset)
			dst = binary.AppendVarint(dst, m.AppendTime)
		}
	}
	dst = appendReadTallies(dst, p.Tallies)
	dst = appendBool(dst, p.AtEnd)
	return binary.AppendUvarint(binary.AppendUvarint(dst, p.Last), p.Redo)
}

func (p *Passed) readBody(d *wireDecoder) {
	p.Epoch, p.Group, p.Reader = d.varint("epoch"), d.uint32("group"), d.varint("reader")
	p.Turn = d.uvarint("turn")
	if n := d.count("turns", 2); n > 0 {
		p.Each = make([]TurnRecords, n)
		for i := range p.Each {
			p.Each[i] = TurnRecords{Turn: d.uvarint("turn"), Records: d.uvarint("contributions of a turn")}
		}
	}
	if n := d.count("cuts", 8); n > 0 {
		p.Cuts = make([]GroupCut, n)
	}
	for i := range p.Cuts {
		p.Cuts[i].Cut = d.cut()
		if n := d.count("marks", 3); n > 0 {
			p.Cuts[i].Marks = make([]TurnMark, n)
			for j := range p.Cuts[i].Marks {
				p.Cuts[i].Marks[j] = TurnMark{Turn: d.uvarint("turn"), Offset: d.varint("offset"), AppendTime: d.varint("append time")}
			}
		}
	}
	p.Tallies = d.readTallies()
	p.AtEnd, p.Last, p.Redo = d.bool("at the end"), d.uvarint("last turn"), d.uvarint("turn done again")
	d.checked(p)
}

func (*Lost) controlKind() Kind              { return KindLost }
func (*Lost) check() string                  { return "" }
func (l *Lost) appendBody(dst []byte) []byte { return binary.AppendVarint(dst, l.Epoch) }
func (l *Lost) readBody(d *wireDecoder)      { l.Epoch = d.varint("epoch") }

func (*Drain) controlKind() Kind              { return KindDrain }
func (*Drain) check() string                  { return "" }
func (r *Drain) appendBody(dst []byte) []byte { return binary.AppendVarint(dst, r.Run) }
func (r *Drain) readBody(d *wireDecoder)      { r.Run = d.varint("run") }

func (*End) controlKind() Kind { return KindEnd }
func (*End) check() string     { return "" }

func (e *End) appendBody(dst []byte) []byte {
	return binary.AppendUvarint(appendBool(binary.AppendVarint(dst, e.Epoch), e.Drained), e.Owed)
}

func (e *End) readBody(d *wireDecoder) {
	e.Epoch, e.Drained, e.Owed = d.varint("epoch"), d.bool("drained"), d.uvarint("last turn")
}

// checked fails on a value that could not be encoded.
func (d *wireDecoder) checked(b ControlBody) {
	if what := b.check(); what != "" && d.err == nil {
		d.fail(what)
	}
}
