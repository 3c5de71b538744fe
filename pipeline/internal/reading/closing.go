package reading

import (
	"cmp"
	"context"
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/packing"
	"github.com/tollgate-dp/tollgate/schemas"
)

// closeTurns writes the CLOSEs of every turn that all partitions have passed, some ahead of
// settlement: in spans of CatchUp turns, or of fewer if no other turn is closed ahead of
// settlement. It reports whether it wrote any.
func (s *Source) closeTurns(ctx context.Context, settled uint64) (bool, error) {
	if s.closeWritten > s.closed || !s.caughtUp() {
		return false, nil // our own CLOSE is not read back yet, or a closed turn is not read to its cut
	}
	s.fixLastTurn()
	var bodies []schemas.ControlBody
	closed := s.closed
	for {
		last := s.nextSpan(closed, settled)
		if last == closed {
			break
		}
		c := s.closeOf(closed+1, last)
		if len(bodies) == 0 {
			c.Tallies = s.allTallies()
		}
		bodies = append(bodies, c)
		closed = last
	}
	if len(bodies) == 0 {
		return false, nil
	}
	if _, err := s.append(ctx, bodies...); err != nil {
		return false, err
	}
	s.closeWritten = closed
	s.markTallied()
	return true, nil
}

// nextSpan returns the last turn of the span after closed that is to be closed now, or closed if
// there is none. No turn waits for a later one: only if the first turn must wait for settlement
// anyway does the span include turns that have passed meanwhile.
func (s *Source) nextSpan(closed, settled uint64) uint64 {
	most := uint64(s.dep.Config.CatchUp)
	last := closed
	for last < closed+most && last < settled+max(closeAhead, 2*most) && s.hasPassed(last+1) {
		last++
	}
	if last < closed+most && closed > settled {
		return closed
	}
	return last
}

// closeOf makes the CLOSE of the turns from first to last.
func (s *Source) closeOf(first, last uint64) *schemas.Close {
	c := &schemas.Close{Epoch: s.epoch.Load(), First: first, Turn: last}
	for turn := first; turn <= last; turn++ {
		var records uint64
		if b := s.buffers[turn]; b != nil {
			records = b.Records
		}
		records += s.otherRecords(turn)
		c.Contributions += records
		if first < last {
			c.Each = append(c.Each, records)
		}
	}
	for _, p := range s.partitions {
		c.Cuts = append(c.Cuts, p.cut(s.restartMark(p, last)))
	}
	s.eachGroup(func(g *controllog.Group) {
		for i := range g.Cuts {
			c.Cuts = append(c.Cuts, g.Cuts[i].For(last))
		}
	})
	slices.SortFunc(c.Cuts, func(a, b schemas.Cut) int { return cmp.Compare(a.Partition, b.Partition) })
	return c
}

// caughtUp reports whether everything before the cuts of the last CLOSE was read. Otherwise a
// new cut would be lower than an old one.
func (s *Source) caughtUp() bool {
	return !slices.ContainsFunc(s.partitions, func(p *partition) bool { return p.next < p.talliedTo })
}

// hasPassed reports whether a turn can be closed: the watermark of every partition has reached its
// end, and the run may close it. A bounded run closes its last turn once it has read everything.
func (s *Source) hasPassed(turn uint64) bool {
	if s.unwritten || turn > s.lastOwed() {
		return false
	}
	if s.lastKnown && turn == s.last {
		if all, _ := s.allAtEnd(); !all {
			return false
		}
	}
	others := true
	s.eachGroup(func(g *controllog.Group) { others = others && g.Turn >= turn })
	if !others {
		return false
	}
	for _, p := range s.partitions {
		if p.watermark(s.dep.Metrics[0].Spec) < s.classifier.turns.End(turn) {
			return false
		}
	}
	return true
}

// restartMark returns the lowest mark of an event that belongs to a turn after the given
// one; nil for none.
func (s *Source) restartMark(p *partition, turn uint64) *packing.Mark {
	var lowest *packing.Mark
	if m, ok := s.unneeded.first[p.id]; ok {
		lowest = &m
	}
	for t, b := range s.buffers {
		if t <= turn {
			continue
		}
		if m, ok := b.First[p.id]; ok && (lowest == nil || m.Offset < lowest.Offset) {
			lowest = &m
		}
	}
	return lowest
}

// lowestNeeded returns the lowest offset of a partition that may have to be read again.
func (s *Source) lowestNeeded(p *partition) int64 {
	if m := s.restartMark(p, s.opened); m != nil {
		return m.Offset
	}
	return p.next
}

func below(limit int64) func(int64) bool { return func(o int64) bool { return o < limit } }

func newTallies() schemas.ReadTallies {
	return schemas.ReadTallies{DeadLettered: map[string]uint64{}}
}
