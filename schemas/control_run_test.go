package schemas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
)

// goldenRunRecords are the golden values of the records of a run, following goldenBody's.
func goldenRunRecords() []ControlBody {
	return []ControlBody{
		&Reader{Run: 12, Group: 3, Groups: 4},
		&Passed{Epoch: 17, Redo: 6},
		&Passed{Epoch: 17, Group: 3, Reader: 15, Turn: 8, Each: []TurnRecords{{4, 300}, {8, 700}},
			Cuts: []GroupCut{{Cut{3, 500, 499, 1700000061000, 2, false, 3600000, []int64{491, 495}},
				[]TurnMark{{6, 490, 1700000060900}, {8, 470, 1700000060800}}},
				{Cut{7, 0, 0, -1, -1, true, 0, nil}, nil}},
			Tallies: ReadTallies{Read: 1010, Accepted: 1000, Late: 7,
				DeadLettered: map[string]uint64{"empty_user": 1, "bad_timestamp": 2}}, Last: 9},
		&Passed{Epoch: 17, Group: 3, Reader: 15, Turn: math.MaxUint64, AtEnd: true, Last: 5},
		&Lost{Epoch: 17},
		&Forget{Epoch: 17, Turn: 9, By: "Ada", Why: "ticket 12"},
		&Drain{Run: 12},
		&End{Epoch: 17, Drained: true, Owed: 9},
		&End{Epoch: 17, Owed: 9,
			Tallies: ReadTallies{Read: 3, Late: 2, DeadLettered: map[string]uint64{"empty_user": 1}}},
	}
}

// Contradictory records of a run can be neither written nor read.
func TestRecordsOfARunThatContradictThemselvesAreRefused(t *testing.T) {
	passed := func(change func(*Passed)) *Passed {
		p := goldenRunRecords()[2].(*Passed)
		change(p)
		return p
	}
	first := func(change func(*Passed)) *Passed {
		p := &Passed{Epoch: 17, Redo: 6}
		change(p)
		return p
	}
	for name, b := range map[string]ControlBody{
		"READER of group 0":                 &Reader{Group: 0, Groups: 2},
		"READER of a group too many":        &Reader{Group: 2, Groups: 2},
		"READER of no groups":               &Reader{Group: 1},
		"READER of too many groups":         &Reader{Group: 1, Groups: MaxGroups + 1},
		"PASSED of a group too many":        passed(func(p *Passed) { p.Group = MaxGroups }),
		"PASSED, with what is done again":   passed(func(p *Passed) { p.Redo = 3 }),
		"first PASSED, of a reader":         first(func(p *Passed) { p.Reader = 3 }),
		"first PASSED, of a turn":           first(func(p *Passed) { p.Turn = 3 }),
		"first PASSED, with cuts":           first(func(p *Passed) { p.Cuts = make([]GroupCut, 1) }),
		"first PASSED, with tallies":        first(func(p *Passed) { p.Tallies.Late = 3 }),
		"first PASSED, at the end":          first(func(p *Passed) { p.AtEnd = true }),
		"first PASSED, with a last turn":    first(func(p *Passed) { p.Last = 1 }),
		"PASSED, turn 0":                    passed(func(p *Passed) { p.Each[0].Turn = 0 }),
		"PASSED, turns twice":               passed(func(p *Passed) { p.Each[0].Turn = 8 }),
		"PASSED, turns out of order":        passed(func(p *Passed) { p.Each[0].Turn, p.Turn = 9, 9 }),
		"PASSED, a turn that is not passed": passed(func(p *Passed) { p.Each[1].Turn = 9 }),
		"PASSED, a mark of a later turn":    passed(func(p *Passed) { p.Cuts[0].Marks[1].Turn = 9 }),
		"PASSED, partitions twice":          passed(func(p *Passed) { p.Cuts[1].Partition = 3 }),
		"PASSED, partitions out of order":   passed(func(p *Passed) { p.Cuts[1].Partition = 2 }),
		"PASSED, no partition":              passed(func(p *Passed) { p.Cuts[0].Partition = -1 }),
		"PASSED, a cut before everything":   passed(func(p *Passed) { p.Cuts[1].Cut.Cut, p.Cuts[1].Restart = -1, -1 }),
		"PASSED, restart after the cut":     passed(func(p *Passed) { p.Cuts[0].Restart = 501 }),
		"PASSED, marks twice":               passed(func(p *Passed) { p.Cuts[0].Marks[1].Turn = 6 }),
		"PASSED, marks out of order":        passed(func(p *Passed) { p.Cuts[0].Marks[1].Turn = 5 }),
		"PASSED, a mark at the cut":         passed(func(p *Passed) { p.Cuts[0].Marks[0].Offset = 500 }),
		"PASSED, a mark before everything":  passed(func(p *Passed) { p.Cuts[0].Marks[0].Offset = -1 }),
		"PASSED, a class too long": passed(
			func(p *Passed) { p.Tallies.DeadLettered = map[string]uint64{strings.Repeat("x", maxTextBytes+1): 1} }),
	} {
		if _, err := EncodeControl(Control{Body: b}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: encoding: %v", name, err)
		}
		w := newWriter(nil, b.controlKind())
		(&Control{Body: b}).layout(w)
		if _, err := DecodeControl(w.out); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: decoding: %v", name, err)
		}
	}
}

// A PASSED takes at most a multiple of its length in memory, even if its counts announce more
// elements than it has, or if it consists of the smallest elements.
func TestAHostilePassedAllocatesInProportionToItsLength(t *testing.T) {
	const length, most = 1 << 20, 24
	head := append(newWriter(nil, KindPassed).out, 0, 0, 0) // back, back epoch, generation
	head = append(head, 34, 3, 30, 5)                       // epoch, group, reader, turn
	cut := append(append([]byte{}, head...), 0, 1, 6, 0, 0, 0, 0, 0)
	tallies := append(append([]byte{}, head...), 0, 0, 0, 0, 0, 0, 0, 0)
	for name, before := range map[string][]byte{
		"turns": head, "cuts": append(append([]byte{}, head...), 0), "offsets ahead": cut,
		"marks": append(append([]byte{}, cut...), 0), "classes": tallies,
	} {
		for _, count := range []uint64{math.MaxUint64, 1 << 40, length, length / 2, length / 3, length / 8,
			length/8 - 100} {
			t.Run(fmt.Sprint(name, " ", count), func(t *testing.T) {
				record := binary.AppendUvarint(append([]byte{}, before...), count)
				record = append(record, make([]byte, length-len(record))...)
				var from, to runtime.MemStats
				runtime.ReadMemStats(&from)
				_, err := DecodeControl(record)
				runtime.ReadMemStats(&to)
				if !errors.Is(err, ErrMalformed) {
					t.Errorf("it was decoded: %v", err)
				}
				if allocated := to.TotalAlloc - from.TotalAlloc; allocated > most*length {
					t.Errorf("a record of %d bytes took %d", length, allocated)
				}
			})
		}
	}
}

// The restart of a CLOSE is the first record of any turn after it.
func TestACutForAnEarlierTurnRestartsAtTheLowestMarkAfterIt(t *testing.T) {
	g := goldenRunRecords()[2].(*Passed).Cuts[0]
	g.Marks = []TurnMark{{6, 490, 60900}, {7, 480, 60850}, {8, 485, 60870}}
	for turn, want := range map[uint64][2]int64{5: {480, 60850}, 6: {480, 60850}, 7: {485, 60870},
		8: {499, 1700000061000}} {
		if c := g.For(turn); c.Restart != want[0] || c.AppendTime != want[1] || c.Cut != 500 {
			t.Errorf("for turn %d: %+v", turn, c)
		}
	}
}
