package controllog

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tollgate-dp/tollgate/schemas"
)

func readerOf(run int64, group, groups uint32) schemas.ControlBody {
	return &schemas.Reader{Run: run, Group: group, Groups: groups}
}

// passedBy is a PASSED of a turn with ten records and cuts at 100 for each number of the turn.
func passedBy(epoch int64, group uint32, reader int64, turn uint64, partitions ...int32) *schemas.Passed {
	p := &schemas.Passed{Epoch: epoch, Group: group, Reader: reader, Turn: turn,
		Each:    []schemas.TurnRecords{{Turn: turn, Records: 10 * turn}},
		Tallies: schemas.ReadTallies{Read: 10 * turn, Accepted: 10 * turn}}
	for _, id := range partitions {
		offset := 100 * int64(turn)
		p.Cuts = append(p.Cuts, schemas.GroupCut{Cut: schemas.Cut{Partition: id, Cut: offset, Restart: offset}})
	}
	return p
}

// groupOf is the effect of passedBy on a group without reports.
func groupOf(p *schemas.Passed) *Group {
	g := &Group{Turn: p.Turn, Cuts: p.Cuts, Each: map[uint64]uint64{}, Tallies: p.Tallies, AtEnd: p.AtEnd, Last: p.Last}
	for _, e := range p.Each {
		g.Each[e.Turn] = e.Records
	}
	return g
}

// The table of docs/design-notes.md, "Who may write what", for the records that the processes of a
// run write, in a run of three readers.
func TestRuleWhatTheProcessesOfARunSayCountsWhereItBelongsOnly(t *testing.T) {
	type list = []schemas.ControlBody
	// Two runs are announced at offsets 1 and 2; the newer one has no epoch yet, and its readers
	// of groups 1 and 2 have begun at 3 and 4. Then it takes one at 5.
	announced := list{&schemas.Header{Counts: inJSON, Generation: 1, LedgerSlots: 8}, &schemas.Run{}, &schemas.Run{}}
	begun := append(slices.Clone(announced), readerOf(2, 1, 3), readerOf(2, 2, 3), &schemas.Epoch{Run: 2})
	part := map[uint32]int64{1: 3, 2: 4}
	none := state{Epoch: -1, Run: -1, Stop: -1}
	same := state{Epoch: 5, Run: 2, Stop: -1, Part: part, Joining: part}
	with := func(s state, change func(*state)) state {
		s.Groups = maps.Clone(s.Groups)
		change(&s)
		return s
	}
	// tallied adds ignored and logged records.
	tallied := func(s state, n int) state { return with(s, func(s *state) { s.Strays = n }) }
	// reads is with the readers of another run, which may follow.
	reads := func(s state, run int64) state { return with(s, func(s *state) { s.Others = []int64{run} }) }
	passes := func(group uint32, p *schemas.Passed) state {
		return with(same, func(s *state) { s.Groups = map[uint32]*Group{group: groupOf(p)} })
	}
	first, end := passedBy(5, 1, 3, 1, 1, 4), &schemas.End{Epoch: 5, Owed: 1}
	closeAt := func(turn uint64, partitions ...int32) *schemas.Close {
		c := &schemas.Close{Epoch: 5, Turn: turn}
		for _, id := range partitions {
			c.Cuts = append(c.Cuts, schemas.Cut{Partition: id, Cut: 100 * int64(turn)})
		}
		return c
	}
	closedOnce := func(s state) state {
		return with(s, func(s *state) {
			s.Closed = 1
			for n, g := range s.Groups {
				all := *g
				all.Tallies = schemas.ReadTallies{} // they are in the CLOSE
				s.Groups[n] = &all
			}
		})
	}
	unclosed := func(s *state) { // the tallies are of records that the next CLOSE has not
		g := *s.Groups[1]
		g.Tallies, g.Unclosed = schemas.ReadTallies{}, g.Tallies
		s.Groups[1] = &g
	}
	both := passedBy(5, 1, 3, 2, 1, 4)
	all := passedBy(5, 1, 3, 3, 1, 4)
	all.Turn, all.AtEnd, all.Last = math.MaxUint64, true, 3
	atEnd := &schemas.Passed{Epoch: 5, Group: 1, Reader: 3, Turn: 1,
		Each: []schemas.TurnRecords{{Turn: 1, Records: 99}}, AtEnd: true, Last: 1}
	for name, test := range map[string]struct {
		before  list // announced or begun
		records list
		want    state
	}{
		"READER before the first EPOCH": {announced, list{readerOf(2, 1, 3)}, reads(none, 2)},
		"READER before its epoch":       {begun, nil, same},
		"READER after the EPOCH waits": {begun, list{readerOf(2, 1, 3)},
			with(same, func(s *state) { s.Joining = map[uint32]int64{1: 6, 2: 4} })},
		"READER, twice": {announced,
			list{readerOf(2, 1, 3), readerOf(2, 1, 3), &schemas.Epoch{Run: 2}}, state{Epoch: 5, Run: 2, Stop: -1,
				Part: map[uint32]int64{1: 4}, Joining: map[uint32]int64{1: 4}}},
		"READER, the last one of two epochs": {begun, list{readerOf(2, 1, 3), &schemas.Epoch{Run: 2}},
			state{Epoch: 7, Run: 2, Stop: -1, Part: map[uint32]int64{1: 6, 2: 4},
				Joining: map[uint32]int64{1: 6, 2: 4}}},
		"READER of an older run": {begun, list{readerOf(1, 1, 3)}, same},
		"READER of an older run, in time": {announced, list{readerOf(1, 1, 3), &schemas.Epoch{Run: 2}},
			state{Epoch: 4, Run: 2, Stop: -1}},
		"READER of a later run without an EPOCH": {begun, list{&schemas.Run{}, readerOf(6, 1, 2)}, reads(same, 6)},
		"READER of a run that replaces another": {begun,
			list{&schemas.Run{}, readerOf(6, 1, 2), &schemas.Epoch{Run: 6}}, state{Epoch: 8, Run: 6, Stop: -1,
				Part: map[uint32]int64{1: 7}, Joining: map[uint32]int64{1: 7}}},
		"READER after one of a later run": {begun, list{&schemas.Run{}, readerOf(6, 1, 2), readerOf(2, 2, 3)},
			reads(with(same, func(s *state) { s.Joining = map[uint32]int64{1: 3, 2: 8} }), 6)},
		"READER of no run":                   {begun, list{readerOf(6, 1, 3), readerOf(-1, 1, 3)}, same},
		"READER of another number of groups": {begun, list{readerOf(2, 1, 2), readerOf(2, 3, 5)}, tallied(same, 2)},
		"READER after END": {begun, list{end, readerOf(2, 1, 3)},
			with(same, func(s *state) { s.Ended, s.Joining = end, map[uint32]int64{1: 7, 2: 4} })},

		"PASSED": {begun, list{first}, passes(1, first)},
		"PASSED before the first EPOCH": {announced,
			list{readerOf(2, 1, 3), passedBy(-1, 1, 3, 1, 1), passedBy(3, 1, 3, 1, 1),
				&schemas.Passed{Epoch: -1, Redo: 1}}, reads(none, 2)},
		"PASSED of an older epoch": {begun, list{&schemas.Epoch{Run: 2}, first},
			with(same, func(s *state) { s.Epoch = 6 })},
		"PASSED, and a later epoch": {begun, list{first, &schemas.Epoch{Run: 2}},
			with(same, func(s *state) { s.Epoch = 7 })},
		"PASSED of an older run": {begun, list{&schemas.Epoch{Run: 1}, passedBy(6, 1, 3, 1, 1, 4)}, same},
		"PASSED of another reader": {begun,
			list{passedBy(5, 1, 4, 1, 1, 4), passedBy(5, 1, -1, 1, 1, 4), passedBy(5, 1, 0, 1, 1, 4)}, same},
		"PASSED of a reader that waits": {begun, list{readerOf(2, 1, 3), passedBy(5, 1, 6, 1, 1, 4)},
			with(same, func(s *state) { s.Joining = map[uint32]int64{1: 6, 2: 4} })},
		"PASSED of a replaced reader": {begun,
			list{readerOf(2, 1, 3), &schemas.Epoch{Run: 2}, passedBy(7, 1, 3, 1, 1, 4)}, state{Epoch: 7, Run: 2,
				Stop: -1, Part: map[uint32]int64{1: 6, 2: 4}, Joining: map[uint32]int64{1: 6, 2: 4}}},
		"PASSED before another reader": {begun, list{readerOf(2, 1, 3), first},
			with(passes(1, first), func(s *state) { s.Joining = map[uint32]int64{1: 6, 2: 4} })},
		"PASSED of a group without reader": {begun, list{passedBy(5, 3, 3, 1, 1)}, same},
		"PASSED, twice":                    {begun, list{first, first}, passes(1, first)},
		"PASSED, the same turn otherwise": {begun,
			list{first,
				&schemas.Passed{Epoch: 5, Group: 1, Reader: 3, Turn: 1,
					Each: []schemas.TurnRecords{{Turn: 1, Records: 99}}, Tallies: schemas.ReadTallies{Read: 99},
					Cuts: passedBy(5, 1, 3, 9, 1, 4).Cuts}}, passes(1, first)},
		"PASSED, a turn of no records, later with some": {begun,
			list{both,
				&schemas.Passed{Epoch: 5, Group: 1, Reader: 3, Turn: 3,
					Each: []schemas.TurnRecords{{Turn: 1, Records: 7}, {Turn: 3, Records: 30}}}},
			with(same, func(s *state) {
				s.Groups = map[uint32]*Group{1: {Turn: 3, Each: map[uint64]uint64{2: 20, 3: 30}, Tallies: both.Tallies,
					Cuts: both.Cuts}}
			})},
		"PASSED, at the end": {begun, list{first, atEnd},
			with(passes(1, first), func(s *state) { s.Groups[1].AtEnd, s.Groups[1].Last = true, 1 })},
		"PASSED, at the end, of turns that are not all closed": {begun,
			list{both, closeAt(1, 0, 1, 2, 4),
				&schemas.Passed{Epoch: 5, Group: 1, Reader: 3, Turn: 2, AtEnd: true, Last: 2}},
			with(closedOnce(passes(1, both)), func(s *state) { s.Groups[1].AtEnd, s.Groups[1].Last = true, 2 })},
		"PASSED of all turns":   {begun, list{all}, passes(1, all)},
		"PASSED, and its CLOSE": {begun, list{first, closeAt(1, 1, 4)}, closedOnce(passes(1, first))},
		"PASSED of a settled turn": {begun,
			list{closeAt(1, 1, 4), settledParts(t, 5, 1, 1)[0],
				&schemas.Passed{Epoch: 5, Group: 1, Reader: 3, Turn: 1,
					Each: []schemas.TurnRecords{{Turn: 1, Records: 10}}}},
			with(same, func(s *state) { s.Closed, s.Settled, s.Groups = 1, 1, map[uint32]*Group{1: {Turn: 1}} })},
		"PASSED with a partition of another group":   {begun, list{passedBy(5, 1, 3, 1, 1, 2)}, tallied(same, 1)},
		"PASSED with a partition of the first group": {begun, list{passedBy(5, 1, 3, 1, 0, 1)}, tallied(same, 1)},
		"PASSED without a partition that CLOSE has": {begun, list{closeAt(1, 0, 1, 2, 4), passedBy(5, 1, 3, 2, 1)},
			with(same, func(s *state) { s.Closed, s.Strays = 1, 1 })},
		"PASSED without partitions that CLOSE has": {begun, list{closeAt(1, 0, 1, 2, 4), passedBy(5, 1, 3, 2)},
			with(same, func(s *state) { s.Closed, s.Strays = 1, 1 })},
		"PASSED without a partition of which CLOSE has nothing": {begun,
			list{&schemas.Close{Epoch: 5, Turn: 1, Cuts: []schemas.Cut{{Partition: 4}}},
				passedBy(5, 1, 3, 2, 1)},
			with(same, func(s *state) { s.Closed, s.Strays = 1, 1 })},
		"PASSED with a partition that CLOSE has not": {begun, list{closeAt(1, 0, 1, 2), both},
			with(passes(1, both), func(s *state) { s.Closed = 1 })},
		"PASSED with cuts before those of CLOSE": {begun,
			list{closeAt(1, 0, 1, 2),
				&schemas.Passed{Epoch: 5, Group: 1, Reader: 3, Turn: 2,
					Cuts: []schemas.GroupCut{{Cut: schemas.Cut{Partition: 1, Cut: 99, Restart: 99}}}}},
			with(same, func(s *state) {
				s.Closed, s.Strays = 1, 1
			})},
		"PASSED without cuts, of turns that are closed": {begun, list{closeAt(1, 0, 1, 2), passedBy(5, 1, 3, 1)},
			with(passes(1, passedBy(5, 1, 3, 1)), func(s *state) {
				s.Closed = 1
				unclosed(s)
			})},
		"PASSED without cuts, and with cuts": {begun, list{closeAt(1, 0, 1, 2), passedBy(5, 1, 3, 1), both},
			with(passes(1, both), func(s *state) {
				s.Closed = 1
				s.Groups[1].Each[1] = 10
			})},
		"PASSED after END": {begun, list{end, first}, with(passes(1, first), func(s *state) { s.Ended = end })},

		"first PASSED": {begun, list{&schemas.Passed{Epoch: 5, Redo: 3}},
			with(same, func(s *state) { s.Groups = map[uint32]*Group{0: {Redo: 3}} })},
		"first PASSED, twice": {begun, list{&schemas.Passed{Epoch: 5}, &schemas.Passed{Epoch: 5, Redo: 3}},
			with(same, func(s *state) { s.Groups = map[uint32]*Group{0: {}} })},

		"LOST": {begun, list{&schemas.Lost{Epoch: 5}},
			with(same, func(s *state) { s.Lost = true })},
		"LOST, twice": {begun, list{&schemas.Lost{Epoch: 5}, &schemas.Lost{Epoch: 5}},
			with(same, func(s *state) { s.Lost = true })},
		"LOST before the first EPOCH": {announced, list{&schemas.Lost{Epoch: -1}, &schemas.Lost{Epoch: 2}}, none},
		"LOST, and a later epoch": {begun, list{&schemas.Lost{Epoch: 5}, &schemas.Epoch{Run: 2}},
			with(same, func(s *state) { s.Epoch = 7 })},
		"LOST of an older epoch": {begun, list{&schemas.Epoch{Run: 2}, &schemas.Lost{Epoch: 5}},
			with(same, func(s *state) { s.Epoch = 6 })},
		"LOST of an older run": {begun, list{&schemas.Epoch{Run: 1}, &schemas.Lost{Epoch: 6}}, same},
		"LOST of a replaced run": {begun, list{&schemas.Run{}, &schemas.Epoch{Run: 6}, &schemas.Lost{Epoch: 5}},
			state{Epoch: 7, Run: 6, Stop: -1}},
		"LOST after END": {begun, list{end, &schemas.Lost{Epoch: 5}},
			with(same, func(s *state) { s.Ended, s.Lost = end, true })},

		"DRAIN": {begun, list{&schemas.Drain{Run: 2}},
			with(same, func(s *state) { s.Drained = []int64{2} })},
		"DRAIN, twice": {begun, list{&schemas.Drain{Run: 2}, &schemas.Drain{Run: 2}},
			with(same, func(s *state) { s.Drained = []int64{2} })},
		"DRAIN before the first EPOCH": {announced,
			list{&schemas.Drain{Run: 2}, &schemas.Epoch{Run: 2}}, state{Epoch: 4, Run: 2, Stop: -1,
				Drained: []int64{2}}},
		"DRAIN of an older run": {begun, list{&schemas.Drain{Run: 1}}, same},
		"DRAIN of an older run, in time": {announced,
			list{&schemas.Drain{Run: 1}, &schemas.Epoch{Run: 2}}, state{Epoch: 4, Run: 2, Stop: -1}},
		"DRAIN of no run": {begun,
			list{&schemas.Drain{Run: 6}, &schemas.Drain{Run: 99}, &schemas.Drain{Run: -1}}, same},
		"DRAIN, and a later epoch": {begun, list{&schemas.Drain{Run: 2}, &schemas.Epoch{Run: 2}},
			with(same, func(s *state) {
				s.Epoch, s.Drained = 7, []int64{2}
			})},
		"DRAIN of a later run that never begins, and of this one": {begun,
			list{&schemas.Run{}, &schemas.Drain{Run: 6}, &schemas.Drain{Run: 2}}, with(same, func(s *state) {
				s.Drained = []int64{2, 6}
			})},
		"DRAIN of a replaced run": {begun, list{&schemas.Drain{Run: 2}, &schemas.Run{}, &schemas.Epoch{Run: 7}},
			state{Epoch: 8, Run: 7, Stop: -1}},
		"DRAIN after END": {begun, list{end, &schemas.Drain{Run: 2}},
			with(same, func(s *state) { s.Ended, s.Drained = end, []int64{2} })},

		"END":                        {begun, list{end}, with(same, func(s *state) { s.Ended = end })},
		"END before the first EPOCH": {announced, list{&schemas.End{Epoch: -1}, &schemas.End{Epoch: 2}}, none},
		"END of an older epoch": {begun, list{&schemas.Epoch{Run: 2}, end},
			with(same, func(s *state) { s.Epoch = 6 })},
		"END of an older run": {begun, list{&schemas.Epoch{Run: 1}, &schemas.End{Epoch: 6}}, same},
		"END, twice": {begun, list{end, &schemas.End{Epoch: 5, Drained: true, Owed: 7}},
			with(same, func(s *state) { s.Ended = end })},
		"END, and a later epoch": {begun, list{end, &schemas.Epoch{Run: 2}},
			with(same, func(s *state) { s.Epoch = 7 })},
	} {
		t.Run(name, func(t *testing.T) {
			got := observed(t, slices.Concat(test.before, test.records)...)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A process that opens control long after the readers of its run have begun finds no READER. It
// treats their records in its epoch as does a process that has read everything.
func TestRuleWhatReadersSayCountsWhereverReadingOfControlBegins(t *testing.T) {
	log := newControlLog(t, 4)
	run := log.whole.Next
	log.write(&schemas.Run{})
	log.write(readerOf(run, 1, 3))
	first := log.whole.Next
	log.write(readerOf(run, 1, 3))
	second := log.whole.Next
	log.write(readerOf(run, 2, 3))
	log.write(&schemas.Epoch{Run: run})
	for turn := uint64(1); turn <= 30; turn++ {
		log.write(&schemas.Close{Epoch: log.whole.Epoch, Turn: turn})
		log.write(settledParts(t, log.whole.Epoch, turn, 1)[0])
	}
	back, backEpoch := log.whole.back()
	if back <= second {
		t.Fatalf("back at %d: the READERs are read", back)
	}
	late := NewView(4)
	late.BeginAt(back, backEpoch, run)
	for _, b := range log.bodies[back:] {
		feedView(t, late, b)
	}
	for _, more := range [][]schemas.ControlBody{
		{&schemas.Epoch{Run: run}},
		{passedBy(log.whole.Next+1, 1, first, 31, 1), passedBy(log.whole.Next+1, 2, second, 31, 2)},
	} {
		for _, b := range more {
			if p, is := b.(*schemas.Passed); is {
				p.Epoch = log.whole.Epoch
			}
			log.write(b)
			feedView(t, late, b)
		}
	}
	if diff := cmp.Diff(log.whole.Groups, late.Groups); diff != "" || len(late.Groups) != 2 {
		t.Errorf("from offset %d on: %s", back, diff)
	}
	// One that began after that counts alone.
	third := log.whole.Next
	for _, b := range []schemas.ControlBody{readerOf(run, 1, 3), &schemas.Epoch{Run: run}} {
		feedView(t, late, b)
	}
	feedView(t, late, passedBy(late.Epoch, 1, first, 32, 1))
	if late.Groups[1] != nil || !late.IsMember(1, third) || !late.IsMember(2, second) || late.IsMember(2, third) {
		t.Error("after another READER came, the older one of its group counts")
	}
}

// A run that is announced, whose readers begin, and that never takes an epoch takes nothing from
// the run in force: its readers are not replaced, wait for no other epoch, and it can be asked to
// end.
func TestRuleARunThatNeverTakesAnEpochReplacesNoReader(t *testing.T) {
	begun := []schemas.ControlBody{&schemas.Header{Counts: inJSON}, &schemas.Run{}, readerOf(1, 1, 2),
		&schemas.Epoch{Run: 1}}
	v := NewView(8)
	feedView(t, v, begun...)
	feedView(t, v, &schemas.Drain{Run: 1}, &schemas.Run{})
	if !v.Drained(1) {
		t.Error("a run that was announced took the DRAIN of the one in force")
	}
	v = NewView(8)
	feedView(t, v, begun...)
	feedView(t, v, &schemas.Run{}, readerOf(4, 1, 2), &schemas.Drain{Run: 4}, &schemas.Drain{Run: 1})
	if v.Replaced(1, 1, 2) || !v.IsMember(1, 2) || !v.Drained(1) {
		t.Error("a run that has no epoch took the reader, or the DRAIN, of the one that has")
	}
	if waits, _ := v.Joining(1, -1); waits {
		t.Error("its reader makes the run in force take another epoch")
	}
	if waits, groups := v.Joining(4, 4); !waits || groups != 1 {
		t.Errorf("in its own run the reader waits: %t, %d groups", waits, groups)
	}
	feedView(t, v, readerOf(1, 1, 2)) // begun anew, after a READER of the later run
	if waits, _ := v.Joining(1, -1); !waits || !v.Replaced(1, 1, 2) {
		t.Error("a reader that begins anew does not come to read")
	}
}
