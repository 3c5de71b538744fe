package controllog

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Closing is a CLOSE that counts.
type Closing struct {
	schemas.Close
	offset    int64
	lastEpoch int64 // offset of the last EPOCH that counts before it
}

// View is the state of the control log up to the last record read. Every reader applies the
// following rules to one record after another (docs/design-notes.md contains them as a table):
//
//   - A HEADER counts at offset 0 and nowhere else.
//   - An EPOCH counts unless a run with a greater number has started one before it.
//   - CLOSE, SETTLED, GENERATION, STOP, PASSED, LOST and END count only if their epoch is the last
//     EPOCH that counts before them; CLOSE, SETTLED and GENERATION only for the next turn, SETTLED
//     only for one with a CLOSE, PASSED only from the last reader of its group before the EPOCH.
//   - A READER or DRAIN counts for the run that it names, unless a run with a greater number has
//     started an epoch before it.
//   - A RECOVER lifts the STOP that it names.
//
// Its exported fields are only for reading. Not safe for concurrent use: Log.WithView locks it.
type View struct {
	Standing
	Next     int64 // next offset of control to read
	anchored bool  // control was read from its beginning
	Run      int64 // number of the run that started the epoch; −1 before the first
	// describes the run in force by its host and start; "" if there is none
	Worker        string
	Stop          *schemas.Stop                   // STOP that is not lifted; nil: none
	StopAt        int64                           // offset of Stop
	Lost          bool                            // a stage lost a partition in the epoch
	Ended         *schemas.End                    // END of the epoch; nil before
	Turns         int64                           // number of turns settled in the epoch
	Epochs        int64                           // number of EPOCHs that have counted since reading began
	Groups        map[uint32]*Group               // progress in the epoch, by group of partitions
	readers       map[int64]*readers              // by run number, for the run in force and those that may follow
	members       map[uint32]int64                // the reader in the epoch, by group, except group 0
	drained       map[int64]struct{}              // numbers of the runs with a DRAIN
	begun         int64                           // first offset of control that was read
	reportForeign func(offset int64, what string) // logs an ignored record

	started bool                // a CLOSE or GENERATION has counted
	oldest  uint64              // turn of the first CLOSE that counted
	Closes  map[uint64]*Closing // CLOSEs of the remembered turns
	Parts   []schemas.Settled   // parts of the next turn's SETTLED, as far as read
	partsAt int64               // offset of the first part

	SettledAt   map[uint64]int64             // offset of the first part of the SETTLED, by turn
	Header      *schemas.Header              // header of the generation in force; nil: not read yet
	HeaderAt    int64                        // offset of the record with Header
	CountsEnd   map[uint64][]int64           // end offsets of the partitions of counts, by turn
	settlements map[uint64]*spend.Settlement // the few newest, by turn
	history     uint64                       // number of remembered turns up to the settled one
	onSettled   OnSettled                    // may be nil
}

// Standing is the part of the state that runs change: while it stays the same, no run is active.
type Standing struct {
	Announced int64  // number of the last announced run
	Epoch     int64  // offset of the last EPOCH that counts; −1 before the first
	Closed    uint64 // last closed turn; 0 before the first
	Settled   uint64 // last settled turn; 0 before the first
}

// OnSettled is a function that is called with a settled turn, the tallies of the turn's CLOSE, and
// the number of the run that settled the turn.
type OnSettled func(s schemas.Settled, read schemas.ReadTallies, run int64)

// keepSettlements is how many decoded settlements stay in memory. A restore charges one turn after
// another, in every shard.
const keepSettlements = 4

// NewView returns a View at the beginning of control. Until a generation sets another number, it
// remembers twice ledgerSlots turns.
func NewView(ledgerSlots int) *View {
	return &View{
		Standing: Standing{Epoch: -1}, Run: -1, anchored: true, Groups: map[uint32]*Group{},
		readers: map[int64]*readers{}, members: map[uint32]int64{},
		drained: map[int64]struct{}{}, reportForeign: func(int64, string) {}, history: 2 * uint64(ledgerSlots),
		Closes: map[uint64]*Closing{}, SettledAt: map[uint64]int64{},
		CountsEnd: map[uint64][]int64{}, settlements: map[uint64]*spend.Settlement{},
	}
}

// BeginAt makes the view begin at an offset of control: 0, or the Back of a record. lastEpoch is
// the offset of the last EPOCH that counts before that offset, and run is the number of that
// epoch's run. Both are −1 if there is no such EPOCH.
func (v *View) BeginAt(offset, lastEpoch, run int64) {
	v.Next, v.Epoch, v.Run, v.anchored, v.begun = offset, lastEpoch, run, offset == 0, offset
}

// inForce reports whether epoch is the last EPOCH that counts.
func (v *View) inForce(epoch int64) bool { return epoch >= 0 && epoch == v.Epoch }

// Drained reports whether a run has a DRAIN and no newer run has started an epoch.
func (v *View) Drained(run int64) bool {
	_, drained := v.drained[run]
	return drained
}

// Observe applies the record c, which is at the given offset of control. Records must be applied in
// the order of their offsets. Observe ignores a record that does not count, without an error.
func (v *View) Observe(offset int64, c schemas.Control) error {
	v.Next = offset + 1
	switch b := c.Body.(type) {
	case *schemas.Run:
		v.Announced = offset
	case *schemas.Epoch:
		if b.Run >= v.Run && b.Run < offset {
			if b.Run > v.Run {
				v.Worker = fmt.Sprintf("the run on host %q since %s", b.Host,
					time.UnixMilli(b.Began).UTC().Format("2006-01-02 15:04:05 UTC"))
			}
			v.beginEpoch(offset, b.Run)
		}
	case *schemas.Reader:
		v.observeReader(offset, b)
	case *schemas.Passed:
		v.observePassed(offset, b)
	case *schemas.Lost:
		v.Lost = v.Lost || v.inForce(b.Epoch)
	case *schemas.Drain:
		if b.Run >= max(v.Run, 0) && b.Run < offset {
			v.drained[b.Run] = struct{}{}
		}
	case *schemas.End:
		if v.inForce(b.Epoch) && v.Ended == nil {
			v.Ended = b
		}
	case *schemas.Close:
		v.observeClose(offset, b)
	case *schemas.Settled:
		return v.observeSettled(offset, b)
	case *schemas.Stop:
		if b.Epoch == v.Epoch && v.Stop == nil { // even before the first EPOCH, to be safe
			v.Stop, v.StopAt = b, offset
		}
	case *schemas.Recover:
		if v.Stop != nil && b.Stop == v.StopAt {
			v.Stop = nil
		}
	case *schemas.Header:
		if offset != 0 {
			v.reportForeign(offset,
				"is a HEADER of an init that came too late, and is ignored: only the one at offset 0 counts")
			return nil
		}
		v.Header, v.HeaderAt = b, offset
	case *schemas.Generation:
		v.observeGeneration(offset, b)
	case *schemas.Forget: // the ledger contains the mark
	default:
		return fmt.Errorf("reading control at offset %d: this program does not know the record's kind", offset)
	}
	return nil
}

func (v *View) beginEpoch(offset, run int64) {
	v.Epoch, v.Run = offset, run
	v.Epochs++
	v.Parts, v.Lost, v.Ended, v.Turns = nil, false, nil, 0
	v.Groups = map[uint32]*Group{}
	v.beginReaders(run)
	maps.DeleteFunc(v.drained, func(number int64, _ struct{}) bool { return number < run })
}

func (v *View) observeClose(offset int64, c *schemas.Close) {
	known := v.anchored || v.started
	if !v.inForce(c.Epoch) || (known && c.Turn != v.Closed+1) {
		return
	}
	if !v.started {
		v.started, v.oldest = true, c.Turn
	}
	v.Closed = c.Turn
	v.Closes[c.Turn] = &Closing{Close: *c, offset: offset, lastEpoch: v.Epoch}
	for _, g := range v.Groups {
		g.Tallies = schemas.ReadTallies{} // the CLOSE contains them now
	}
}

// observeGeneration puts the next generation in force if every earlier turn is settled. It revokes
// the CLOSEs of later turns, of which nothing was published.
func (v *View) observeGeneration(offset int64, g *schemas.Generation) {
	h := &g.Header
	known := v.anchored || v.Settled > 0
	if !v.inForce(g.Epoch) || known && h.FromTurn != v.Settled+1 || offset > v.HeaderAt && !follows(v.Header, h) {
		return
	}
	v.Header, v.HeaderAt = h, offset
	v.Worker = "" // this epoch belongs to a change, which ends with this record
	for turn := h.FromTurn; turn <= v.Closed; turn++ {
		delete(v.Closes, turn)
	}
	v.Closed, v.Settled, v.started = h.FromTurn-1, h.FromTurn-1, true
	v.Parts = nil
	v.CountsEnd[v.Settled] = g.CountsEnd
	v.history = 2 * uint64(h.LedgerSlots)
}

// follows reports whether generation h is the next one of the same deployment. A change that was
// written twice therefore counts once.
func follows(before, h *schemas.Header) bool {
	return before == nil || h.Generation == before.Generation+1 && h.Incarnation == before.Incarnation
}

func (v *View) observeSettled(offset int64, s *schemas.Settled) error {
	if !v.inForce(s.Epoch) {
		return nil
	}
	known := v.anchored || v.Settled > 0
	if known && s.Turn != v.Settled+1 {
		return nil
	}
	if v.Closes[s.Turn] == nil && (v.anchored || v.started && s.Turn >= v.oldest) {
		return nil // no CLOSE of the turn counts, and none can be below v.begun
	}
	if len(v.Parts) > 0 && (v.Parts[0].Turn != s.Turn || v.Parts[0].Digest != s.Digest) {
		v.Parts = nil
	}
	if len(v.Parts) == 0 {
		v.partsAt = offset
	}
	v.Parts = append(v.Parts, *s)
	if int(s.Part)+1 != int(s.Parts) {
		return nil
	}
	settled, err := schemas.JoinSettled(v.Parts)
	v.Parts = nil
	switch {
	case errors.Is(err, schemas.ErrIncomplete) && !known:
		return nil // its first parts may be below v.begun
	case err != nil:
		return unreadable(offset, err)
	}
	v.Turns++
	v.settle(settled)
	if v.onSettled != nil {
		read := schemas.ReadTallies{}
		if c := v.Closes[settled.Turn]; c != nil {
			read = c.Tallies
		}
		v.onSettled(settled, read, v.Run)
	}
	return nil
}

func (v *View) settle(s schemas.Settled) {
	v.Settled = s.Turn
	for _, g := range v.Groups {
		g.dropSettled(s.Turn)
	}
	v.CountsEnd[s.Turn] = s.CountsEnd
	v.remember(spend.NewSettlement(s))
	v.SettledAt[s.Turn] = v.partsAt
	if s.Turn > v.history {
		old := s.Turn - v.history
		delete(v.SettledAt, old)
		delete(v.CountsEnd, old)
		delete(v.Closes, old)
	}
}

func (v *View) remember(s *spend.Settlement) {
	v.settlements[s.Turn] = s
	full := s.Turn == v.Settled || len(v.settlements) > 2*keepSettlements // a restore reads old settlements, in order
	for turn, old := range v.settlements {
		if full && old != s && turn+keepSettlements <= v.Settled {
			delete(v.settlements, turn)
		}
	}
}

// back returns the offset at which a later reader must begin to reach the same state, and the last
// EPOCH before it. This is the offset of the oldest remembered CLOSE, or 0.
func (v *View) back() (offset, lastEpoch int64) {
	var oldest *Closing
	if v.Settled > v.history {
		oldest = v.Closes[v.Settled-v.history+1]
	}
	if oldest == nil {
		return 0, -1
	}
	return oldest.offset, oldest.lastEpoch
}

// Stopped returns the deployment.ErrStopped of a STOP.
func Stopped(s *schemas.Stop) error {
	return fmt.Errorf("%w at turn %d: %s: find the cause, then run tollgate recover --by NAME", deployment.ErrStopped,
		s.Turn, s.Reason)
}
