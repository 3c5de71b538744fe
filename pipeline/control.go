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
// same rule: a CLOSE or SETTLED counts only if its epoch is the last EPOCH
// before it, and only for the turn that is next. Not for concurrent use.
type view struct {
	next     int64 // the first offset not read yet
	anchored bool  // read from the beginning: turn 0 is known to be the start
	epoch    int64 // the last EPOCH, −1 none
	runID    [16]byte
	stop     *schemas.Stop

	started bool // some turn was closed
	closed  uint64
	closes  map[uint64]*closing // of turns from keep back to now
	settled uint64
	parts   []schemas.Settled // of turn settled+1, as far as they have come
	partsAt int64

	settledAt   map[uint64]int64             // offset of the first part
	countsEnd   map[uint64][]int64           // per release shard, by turn
	settlements map[uint64]*spend.Settlement // the newest few
	history     uint64                       // turns that are remembered behind settled
}

// keepSettlements bounds the decoded settlements in memory: a restore charges
// turn by turn, shard by shard.
const keepSettlements = 4

func newView(ledgerSlots int) *view {
	return &view{
		epoch: -1, history: 2 * uint64(ledgerSlots),
		closes: map[uint64]*closing{}, settledAt: map[uint64]int64{},
		countsEnd: map[uint64][]int64{}, settlements: map[uint64]*spend.Settlement{},
	}
}

// beginAt makes the view start in the middle of control, where a record's Back
// points.
func (v *view) beginAt(offset, lastEpoch int64, anchored bool) {
	v.next, v.epoch, v.anchored = offset, lastEpoch, anchored
}

// observe takes the record at v.next.
func (v *view) observe(offset int64, c schemas.Control) error {
	v.next = offset + 1
	switch b := c.Body.(type) {
	case *schemas.Epoch:
		v.epoch, v.runID = offset, b.RunID
		v.parts = nil
	case *schemas.Close:
		v.observeClose(offset, b)
	case *schemas.Settled:
		return v.observeSettled(offset, b)
	case *schemas.Stop:
		v.stop = b
	case *schemas.Recover:
		v.stop = nil
	case *schemas.Header:
	default:
		return fmt.Errorf("reading control at offset %d: a record of a kind that this program does not know", offset)
	}
	return nil
}

func (v *view) observeClose(offset int64, c *schemas.Close) {
	known := v.anchored || v.started
	if c.Epoch != v.epoch || (known && c.Turn != v.closed+1) {
		return
	}
	v.started = true
	v.closed = c.Turn
	v.closes[c.Turn] = &closing{Close: *c, offset: offset, lastEpoch: v.epoch}
}

func (v *view) observeSettled(offset int64, s *schemas.Settled) error {
	if s.Epoch != v.epoch {
		return nil
	}
	known := v.anchored || v.settled > 0
	if known && s.Turn != v.settled+1 {
		return nil
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
	v.settledAt[s.Turn] = v.partsAt
	v.countsEnd[s.Turn] = s.CountsEnd
	v.remember(spend.NewSettlement(s))
	if s.Turn > v.history {
		old := s.Turn - v.history
		delete(v.settledAt, old)
		delete(v.countsEnd, old)
		delete(v.closes, old)
	}
}

func (v *view) remember(s *spend.Settlement) {
	v.settlements[s.Turn] = s
	if s.Turn > keepSettlements {
		delete(v.settlements, s.Turn-keepSettlements)
	}
	for turn := range v.settlements { // a restore looks at old ones, in order
		if len(v.settlements) > 2*keepSettlements && turn != s.Turn && turn+keepSettlements <= v.settled {
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
