package pipeline

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// closing is a CLOSE that counts, with its place on control.
type closing struct {
	schemas.Close
	offset    int64
	lastEpoch int64 // the last EPOCH before it
}

// view is what control says, as far as it was read. Every reader applies the
// same rules, record by record (docs/design-notes.md has them as a table):
//
//   - A HEADER counts at offset 0 and nowhere else.
//   - An EPOCH counts unless a run of a greater number has taken one before it.
//   - CLOSE, SETTLED, GENERATION and STOP count only if their epoch is the last
//     EPOCH that counts before them; the first three only for the turns that are
//     next, a SETTLED only for those of one CLOSE.
//   - A RECOVER lifts the STOP that it names.
//
// What is kept by turn is kept by every turn of a joint. Not for concurrent use.
type view struct {
	next     int64 // the first offset not read yet
	anchored bool  // read from the beginning: turn 0 is known to be the start
	epoch    int64 // the last EPOCH that counts, −1 none
	run      int64 // the number of its run, −1 none
	stop     *schemas.Stop
	stopAt   int64                           // its offset
	stray    func(offset int64, what string) // told of records that nobody obeys

	started bool   // some turn was closed
	oldest  uint64 // the first one that was
	closed  uint64
	closes  map[uint64]*closing // of turns from keep back to now
	settled uint64
	parts   []schemas.Settled // of the joint behind settled, as far as they have come
	partsAt int64

	settledAt   map[uint64]int64             // offset of the first part
	header      *schemas.Header              // of the generation in force; nil where its record was not read
	headerAt    int64                        // its offset
	countsEnd   map[uint64][]int64           // per release shard, by the last turn of a joint
	settlements map[uint64]*spend.Settlement // the newest few
	history     uint64                       // turns that are remembered behind settled
}

// keepSettlements bounds the decoded settlements in memory: a restore charges
// turn by turn, shard by shard.
const keepSettlements = 4

func newView(ledgerSlots int) *view {
	return &view{
		epoch: -1, run: -1, stray: func(int64, string) {}, history: 2 * uint64(ledgerSlots),
		closes: map[uint64]*closing{}, settledAt: map[uint64]int64{},
		countsEnd: map[uint64][]int64{}, settlements: map[uint64]*spend.Settlement{},
	}
}

// beginAt makes the view start in the middle of control, where a record's Back
// points, behind an EPOCH of a run.
func (v *view) beginAt(offset, lastEpoch, run int64) {
	v.next, v.epoch, v.run, v.anchored = offset, lastEpoch, run, offset == 0
}

// observe takes the record at v.next.
func (v *view) observe(offset int64, c schemas.Control) error {
	v.next = offset + 1
	switch b := c.Body.(type) {
	case *schemas.Run:
		// It gives the run its number and changes nothing.
	case *schemas.Epoch:
		if b.Run >= v.run && b.Run < offset {
			v.epoch, v.run = offset, b.Run
			v.parts = nil
		}
	case *schemas.Close:
		v.observeClose(offset, b)
	case *schemas.Settled:
		return v.observeSettled(offset, b)
	case *schemas.Stop:
		if b.Epoch == v.epoch && v.stop == nil {
			v.stop, v.stopAt = b, offset
		}
	case *schemas.Recover:
		if v.stop != nil && b.Stop == v.stopAt {
			v.stop = nil
		}
	case *schemas.Header:
		if offset != 0 {
			v.stray(offset, "is a HEADER; only the one at offset 0 counts, and this one, of an init that came too late, is obeyed by nobody")
			return nil
		}
		v.header, v.headerAt = b, offset
	case *schemas.Generation:
		v.observeGeneration(offset, b)
	default:
		return fmt.Errorf("reading control at offset %d: a record of a kind that this program does not know", offset)
	}
	return nil
}

func (v *view) observeClose(offset int64, c *schemas.Close) {
	known := v.anchored || v.started
	if c.Epoch != v.epoch || (known && c.First != v.closed+1) {
		return
	}
	if !v.started {
		v.started, v.oldest = true, c.First
	}
	v.closed = c.Turn
	joint := &closing{Close: *c, offset: offset, lastEpoch: v.epoch}
	for turn := c.First; turn <= c.Turn; turn++ {
		v.closes[turn] = joint
	}
}

// observeGeneration puts another generation in force, if every turn before it is
// settled. What was closed behind that is open again: nothing of it was
// published.
func (v *view) observeGeneration(offset int64, g *schemas.Generation) {
	h := &g.Header
	known := v.anchored || v.settled > 0
	if g.Epoch != v.epoch || known && h.FromTurn != v.settled+1 || offset > v.headerAt && !follows(v.header, h) {
		return
	}
	v.header, v.headerAt = h, offset
	for turn := h.FromTurn; turn <= v.closed; turn++ {
		delete(v.closes, turn)
	}
	v.closed, v.settled, v.started = h.FromTurn-1, h.FromTurn-1, true
	v.parts = nil
	v.countsEnd[v.settled] = g.CountsEnd
	v.history = 2 * uint64(h.LedgerSlots)
}

// follows says whether a generation is the next one of the same deployment: a
// change that was written twice counts once.
func follows(before, h *schemas.Header) bool {
	return before == nil || h.Generation == before.Generation+1 && h.Incarnation == before.Incarnation
}

func (v *view) observeSettled(offset int64, s *schemas.Settled) error {
	if s.Epoch != v.epoch {
		return nil
	}
	known := v.anchored || v.settled > 0
	if known && s.First != v.settled+1 {
		return nil
	}
	switch c := v.closes[s.Turn]; {
	case c != nil && (c.First != s.First || c.Turn != s.Turn):
		return nil
	case c == nil && (v.anchored || v.started && s.Turn >= v.oldest):
		return nil // no CLOSE of it counts; where reading began in the middle, one may stand before that
	}
	if len(v.parts) > 0 && (v.parts[0].Turn != s.Turn || v.parts[0].Digest != s.Digest) {
		v.parts = nil
	}
	if len(v.parts) == 0 {
		v.partsAt = offset
	}
	v.parts = append(v.parts, *s)
	if int(s.Part)+1 != int(s.Parts) {
		return nil
	}
	whole, err := schemas.JoinSettled(v.parts)
	v.parts = nil
	switch {
	case errors.Is(err, schemas.ErrIncomplete) && !known:
		return nil // its first parts lie before the place where reading began
	case err != nil:
		return fmt.Errorf("reading control at offset %d: %w", offset, err)
	}
	v.settle(whole)
	return nil
}

func (v *view) settle(s schemas.Settled) {
	v.settled = s.Turn
	v.countsEnd[s.Turn] = s.CountsEnd
	v.remember(spend.NewSettlement(s))
	for turn := s.First; turn <= s.Turn; turn++ {
		v.settledAt[turn] = v.partsAt
		if turn > v.history {
			old := turn - v.history
			delete(v.settledAt, old)
			delete(v.countsEnd, old)
			delete(v.closes, old)
		}
	}
}

func (v *view) remember(s *spend.Settlement) {
	for turn := s.First; turn <= s.Turn; turn++ {
		v.settlements[turn] = s
	}
	crowded := s.Turn == v.settled || len(v.settlements) > 2*keepSettlements // a restore looks at old ones, in order
	for turn, old := range v.settlements {
		if crowded && old != s && turn+keepSettlements <= v.settled {
			delete(v.settlements, turn)
		}
	}
}

// back is where a later reader must begin to know what this one knows: at the
// oldest CLOSE that is remembered, or at the first record behind the HEADER.
func (v *view) back() (offset, lastEpoch int64) {
	var oldest *closing
	if v.settled > v.history {
		oldest = v.closes[v.settled-v.history+1]
	}
	if oldest == nil {
		return 0, -1
	}
	return oldest.offset, oldest.lastEpoch
}
