package controllog

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tollgate-dp/tollgate/schemas"
)

// state is the state of control, as far as any record can change it.
type state struct {
	Header, Epoch, Run, Stop int64 // offsets; Stop −1 for none
	Closed, Settled          uint64
	Strays                   int

	// State reported by the processes of a run.
	Part    map[uint32]int64  // the readers that belong to the epoch
	Joining map[uint32]int64  // the last readers of the run
	Others  []int64           // the other runs whose readers count
	Groups  map[uint32]*Group // their passed turns
	Drained []int64           // the runs that were asked to end
	Ended   *schemas.End
	Lost    bool
}

// observed is the state after records, read from offset 0.
func observed(t *testing.T, records ...schemas.ControlBody) (got state) {
	t.Helper()
	v := NewView(8)
	v.reportForeign = func(int64, string) { got.Strays++ }
	feedView(t, v, records...)
	got.Header, got.Epoch, got.Run, got.Stop, got.Closed, got.Settled = v.HeaderAt, v.Epoch, v.Run, -1, v.Closed,
		v.Settled
	if v.Stop != nil {
		got.Stop = v.StopAt
	}
	got.Part, got.Groups, got.Ended, got.Lost = v.members, v.Groups, v.Ended, v.Lost
	if r := v.readers[v.Run]; r != nil {
		got.Joining = r.last
	}
	for run := range v.readers {
		if run != v.Run {
			got.Others = append(got.Others, run)
		}
	}
	got.Drained = slices.Sorted(maps.Keys(v.drained))
	return got
}

// The table of docs/design-notes.md, "Who may write what": every kind of record of control in its
// place, of an older epoch or run, out of place, and twice.
func TestRuleEveryKindOfControlRecordCountsWhereItBelongsOnly(t *testing.T) {
	// Two runs are announced at offsets 1 and 2; the newer one has the epoch at 3.
	begun := []schemas.ControlBody{&schemas.Header{Counts: inJSON, Generation: 1, LedgerSlots: 8}, &schemas.Run{},
		&schemas.Run{}, &schemas.Epoch{Run: 2}}
	closes := func(epoch int64, turn uint64) *schemas.Close {
		return &schemas.Close{Epoch: epoch, Turn: turn}
	}
	settles := func(epoch int64, turn uint64) schemas.ControlBody { return settledParts(t, epoch, turn, 1)[0] }
	another := generationFrom(3, 1)
	another.Header.Incarnation = [16]byte{9}
	third := generationFrom(3, 1)
	third.Header.Generation = 3
	same := state{Epoch: 3, Run: 2, Stop: -1}
	with := func(change func(*state)) state {
		s := same
		change(&s)
		return s
	}
	for name, test := range map[string]struct {
		records []schemas.ControlBody
		want    state
	}{
		"nothing more": {nil, same},
		"HEADER, not at 0": {
			[]schemas.ControlBody{&schemas.Header{Counts: inJSON, Generation: 1, Incarnation: [16]byte{5}}},
			with(func(s *state) {
				s.Strays = 1
			})},
		"HEADER, twice": {[]schemas.ControlBody{begun[0]}, with(func(s *state) { s.Strays = 1 })},
		"RUN":           {[]schemas.ControlBody{&schemas.Run{}, &schemas.Run{}}, same},
		"EPOCH":         {[]schemas.ControlBody{&schemas.Epoch{Run: 2}}, with(func(s *state) { s.Epoch = 4 })},
		"EPOCH of a later run": {[]schemas.ControlBody{&schemas.Run{}, &schemas.Epoch{Run: 4}},
			with(func(s *state) { s.Epoch, s.Run = 5, 4 })},
		"EPOCH of an older run": {[]schemas.ControlBody{&schemas.Epoch{Run: 1}}, same},
		"EPOCH of no run":       {[]schemas.ControlBody{&schemas.Epoch{Run: 4}, &schemas.Epoch{Run: 99}}, same},
		"CLOSE": {[]schemas.ControlBody{closes(3, 1), closes(3, 2)},
			with(func(s *state) { s.Closed = 2 })},
		"CLOSE of an older epoch": {[]schemas.ControlBody{&schemas.Epoch{Run: 2}, closes(3, 1)},
			with(func(s *state) { s.Epoch = 4 })},
		"CLOSE of an older run":    {[]schemas.ControlBody{&schemas.Epoch{Run: 1}, closes(4, 1)}, same},
		"CLOSE of a turn not next": {[]schemas.ControlBody{closes(3, 2)}, same},
		"CLOSE, twice": {[]schemas.ControlBody{closes(3, 1), closes(3, 1)},
			with(func(s *state) { s.Closed = 1 })},
		"SETTLED": {[]schemas.ControlBody{closes(3, 1), settles(3, 1)},
			with(func(s *state) { s.Closed, s.Settled = 1, 1 })},
		"SETTLED of an older epoch": {[]schemas.ControlBody{closes(3, 1), &schemas.Epoch{Run: 2}, settles(3, 1)},
			with(func(s *state) { s.Epoch, s.Closed = 5, 1 })},
		"SETTLED of a turn not next": {[]schemas.ControlBody{closes(3, 1), closes(3, 2), settles(3, 2)},
			with(func(s *state) { s.Closed = 2 })},
		"SETTLED without a CLOSE": {[]schemas.ControlBody{settles(3, 1)}, same},
		"SETTLED, twice": {[]schemas.ControlBody{closes(3, 1), settles(3, 1), settles(3, 1)},
			with(func(s *state) { s.Closed, s.Settled = 1, 1 })},
		"STOP": {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}}, with(func(s *state) { s.Stop = 4 })},
		"STOP of an older epoch": {[]schemas.ControlBody{&schemas.Epoch{Run: 2}, &schemas.Stop{Epoch: 3}},
			with(func(s *state) { s.Epoch = 4 })},
		"STOP of an older run": {[]schemas.ControlBody{&schemas.Epoch{Run: 1}, &schemas.Stop{Epoch: 4}}, same},
		"STOP, twice": {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}, &schemas.Stop{Epoch: 3}},
			with(func(s *state) { s.Stop = 4 })},
		"STOP, and a later epoch": {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}, &schemas.Epoch{Run: 2}},
			with(func(s *state) { s.Stop, s.Epoch = 4, 5 })},
		"RECOVER": {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}, &schemas.Recover{Stop: 4}}, same},
		"RECOVER without a STOP": {[]schemas.ControlBody{&schemas.Recover{Stop: 4}, &schemas.Stop{Epoch: 3}},
			with(func(s *state) { s.Stop = 5 })},
		"RECOVER of an earlier STOP": {[]schemas.ControlBody{&schemas.Stop{Epoch: 3}, &schemas.Recover{Stop: 4},
			&schemas.Stop{Epoch: 3}, &schemas.Recover{Stop: 4}},
			with(func(s *state) { s.Stop = 6 })},
		"GENERATION": {[]schemas.ControlBody{generationFrom(3, 1)},
			with(func(s *state) { s.Header = 4 })},
		"GENERATION of an older epoch": {[]schemas.ControlBody{&schemas.Epoch{Run: 2}, generationFrom(3, 1)},
			with(func(s *state) { s.Epoch = 4 })},
		"GENERATION of another turn":  {[]schemas.ControlBody{generationFrom(3, 2)}, same},
		"GENERATION of another":       {[]schemas.ControlBody{another}, same},
		"GENERATION that is not next": {[]schemas.ControlBody{third}, same},
		"GENERATION, twice": {[]schemas.ControlBody{generationFrom(3, 1), generationFrom(3, 1)},
			with(func(s *state) { s.Header = 4 })},
		"an older run in a newer's wake": {[]schemas.ControlBody{closes(3, 1), &schemas.Epoch{Run: 1}, settles(5, 1),
			settles(3, 1)}, with(func(s *state) { s.Closed, s.Settled = 1, 1 })},
	} {
		t.Run(name, func(t *testing.T) {
			got := observed(t, slices.Concat(begun, test.records)...)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
